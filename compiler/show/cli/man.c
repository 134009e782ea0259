/* man.c -- lockstep(1), made of the tables of verbs, options and sections. */
#include <string.h>

#include "compiler/job/hints/help.h"
#include "compiler/show/cli/cli.h"

/* Text for roff: hyphens can be copied, and no line is taken for a request. */
static void put(const char *text, FILE *out) {
  if (*text == '.' || *text == '\'') fputs("\\&", out);
  for (; *text; text++) {
    if (*text == '\\')
      fputs("\\e", out);
    else if (*text == '-')
      fputs("\\-", out);
    else
      fputc(*text, out);
  }
}

static void put_bold(const char *text, FILE *out) {
  fputs("\\fB", out);
  put(text, out);
  fputs("\\fR", out);
}

static void put_flag(const Flag *flag, FILE *out) {
  fputs(".TP\n", out);
  for (const char *at = flag->names; *at; at += strspn(at, " ")) {
    char name[32];
    int width = (int)strcspn(at, " ");
    snprintf(name, sizeof name, "%.*s", width, at);
    put_bold(name, out);
    at += width;
    if (*at) fputs(", ", out);
  }
  if (*flag->value) {
    fputs(" \\fI", out);
    put(flag->value, out);
    fputs("\\fR", out);
  }
  fputc('\n', out);
  put(flag->doc, out);
  fputs(".\n", out);
  fputs("Of ", out);
  put(flag->verbs, out);
  fputs(".\n", out);
}

static void put_verbs(FILE *out) {
  fputs(".SH VERBS\n", out);
  for (int32_t i = 0; i < verb_count; i++) {
    fputs(".TP\n", out);
    put_bold(verbs[i].name, out);
    fputs(" \\fI", out);
    put(verbs[i].words, out);
    fputs("\\fR\n", out);
    put(verbs[i].question, out);
    fputs("\n", out);
  }
}

static void put_exit_codes(FILE *out) {
  fputs(".SH EXIT STATUS\n", out);
  for (int32_t code = 0; exit_meanings[code]; code++) {
    fprintf(out, ".TP\n%d\n", code);
    put(exit_meanings[code], out);
    fputc('\n', out);
  }
}

void man_print(Compile *c, FILE *out) {
  (void)c;
  fputs(".\\\" Made by lockstep help --man.\n"
        ".TH LOCKSTEP 1 \"\" \"lockstep " LOCKSTEP_VERSION "\" \"User Commands\"\n"
        ".SH NAME\nlockstep \\- compiles and runs the training of neural networks\n"
        ".SH SYNOPSIS\n.B lockstep\n\\fIVERB\\fR ... [\\fIoptions\\fR]\n"
        ".SH DESCRIPTION\n"
        "A job file in Lua says what is trained: the model, the batch, the precision, where it\n"
        "runs. Lockstep compiles it into a static plan: every op, every byte of memory and every\n"
        "communication, in order, before anything runs. What does not fit or divide is refused\n"
        "with its place in the file. The plan is then run as it is.\n",
        out);
  put_verbs(out);
  fputs(".SH OPTIONS\n", out);
  for (int32_t i = 0; i < flag_count; i++)
    put_flag(&flags[i], out);
  fputs(".SH JOB FILES\nSections of a job; \\fBlockstep help\\fR \\fISECTION\\fR has their keys.\n"
        ".nf\n\n",
        out);
  help_sections(out);
  fputs(".fi\n", out);
  put_exit_codes(out);
  fputs(".SH FILES\n.TP\n\\fIPREFIX\\fR/share/lockstep/specs\nModels, clusters and devices.\n"
        ".TP\n\\fIPREFIX\\fR/share/lockstep/lua\n"
        "Annotations of job and model files, for editors with a Lua language server.\n"
        ".TP\n\\fIPREFIX\\fR/share/doc/lockstep\nDocumentation and examples.\n"
        ".TP\nruns/\\fINAME\\fR\nWhat a run writes: plan, metrics, checkpoints.\n"
        ".SH EXAMPLES\n.nf\n"
        "lockstep explain job.lua \\-\\-no\\-data     what would run, and what it takes\n"
        "lockstep explain job.lua train.batch   where a value came from\n"
        "lockstep run job.lua \\-D train.steps=10  the same job, ten steps\n.fi\n",
        out);
}
