/* cli.h -- the command line: one verb, one question. Results on stdout, words for people on stderr.
 *
 * Verbs and options are rows of options.def; help, completion and parsing read the two tables made
 * of it. */
#ifndef LOCKSTEP_CLI_H
#define LOCKSTEP_CLI_H

#include "compiler/compile.h"

typedef enum ExitCode {
  EXIT_DONE,
  EXIT_USER,
  EXIT_WORLD,
  EXIT_OURS,
  EXIT_STOPPED = 5 /* of lockstep-rank */
} ExitCode;

enum { WORDS_MAX = 256, COLUMNS_MOST = 80 };

typedef struct Words {
  const char *at[WORDS_MAX];
  int32_t count;
} Words;

typedef struct Options {
  const char *verb;
  Words words;                /* words that are neither verbs nor options: the job file first */
  bool colored;               /* --color, or whether stderr is a terminal */
  const char *const *command; /* all words as they were given, the program's name first */
  int32_t command_count;
#define VERB(name, words, least, most, question)
#define VERB_NAMED(function, name, words, least, most, question)
#define SWITCH(member, names, verbs, doc)            bool member;
#define VALUE(member, names, value, verbs, doc)      const char *member;
#define INPUT(member, names, value, verbs, doc)      const char *member;
#define OUTPUT(member, names, value, verbs, doc)     const char *member;
#define LIST(member, names, value, verbs, doc)       Words member;
#define RANK_SWITCH(member, names, verbs, doc)       bool member;
#define RANK_VALUE(member, names, value, verbs, doc) const char *member;
#include "compiler/show/cli/options.def"
#undef VERB
#undef VERB_NAMED
#undef SWITCH
#undef VALUE
#undef INPUT
#undef OUTPUT
#undef LIST
#undef RANK_SWITCH
#undef RANK_VALUE
} Options;

typedef enum FlagKind { FLAG_SWITCH, FLAG_VALUE, FLAG_LIST } FlagKind;

/* An option may name a file or folder, which the command reads or writes. */
typedef enum FlagFile { FILE_NONE, FILE_READ, FILE_WRITTEN } FlagFile;

/* An option as options.def says it. */
typedef struct Flag {
  FlagKind kind;
  FlagFile file;
  bool is_of_rank; /* handed on to lockstep-rank */
  const char *names, *value, *verbs, *doc;
  size_t offset; /* of its member in Options */
} Flag;
extern const Flag flags[];
extern const int32_t flag_count;

/* A verb of the command line: its name, its arguments and its function. */
typedef struct Verb {
  const char *name, *words;
  int32_t least, most; /* words */
  const char *question;
  ExitCode (*run)(const Options *options);
} Verb;
extern const Verb verbs[];
extern const int32_t verb_count;

/* Fills `options`; on a mistake says it on stderr and returns NULL. */
const Verb *options_parse(Options *options, int count, char **words);

bool flag_takes(const Flag *flag, const char *verb); /* does it belong to this verb? */
const char *flag_first_name(const Flag *flag);       /* "--quiet" of "-q --quiet": the long one */
const Verb *verb_find(const char *name);             /* or NULL */

ExitCode verb_check(const Options *options);
ExitCode verb_compile(const Options *options);
ExitCode verb_explain(const Options *options);
ExitCode verb_tune(const Options *options);
ExitCode verb_diff(const Options *options);
ExitCode verb_estimate(const Options *options);
ExitCode verb_show(const Options *options);
ExitCode verb_prove(const Options *options);
ExitCode verb_sbatch(const Options *options);
ExitCode verb_submit(const Options *options);
ExitCode verb_status(const Options *options);
ExitCode verb_rehearse(const Options *options);
ExitCode verb_preflight(const Options *options);
ExitCode verb_cancel(const Options *options);
ExitCode verb_logs(const Options *options);
ExitCode verb_run(const Options *options);
ExitCode verb_tokenize(const Options *options);
ExitCode verb_topology(const Options *options);
ExitCode verb_checkpoint(const Options *options);
ExitCode verb_export(const Options *options);
ExitCode verb_eval(const Options *options);
ExitCode verb_predict(const Options *options);
ExitCode verb_sample(const Options *options);
ExitCode verb_trace(const Options *options);
ExitCode verb_import(const Options *options);
ExitCode verb_export_config(const Options *options);
ExitCode verb_bench(const Options *options);
ExitCode verb_list(const Options *options);
ExitCode verb_help(const Options *options);
ExitCode verb_version(const Options *options);

/* ---- texts made of the tables */

void usage_print(FILE *out);                        /* all verbs, what they share, exit codes */
void usage_print_verb(const Verb *verb, FILE *out); /* one verb with all its options */
void man_print(Compile *c, FILE *out);              /* lockstep.1 */
/* False: no completion for this shell. */
bool completion_print(Compile *c, const char *shell, FILE *out);

/* The meaning of each exit code; ends with a NULL. */
extern const char *const exit_meanings[];

/* ---- shared by the verbs (common.c) */

/* Prints the message on stderr; returns `code`. */
ExitCode complain(ExitCode code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reports that the output `path` cannot be written. The code is EXIT_USER for an error that another
 * path mends (a folder that is not there, a folder where a file is wanted), else EXIT_WORLD: no
 * room, no permission, a disk that fails. */
ExitCode cannot_write(const char *path, int failure);
ExitCode write_failure_code(int failure); /* without a report */

/* The exit code of a verb whose words name a run or a checkpoint that is not there or is none:
 * EXIT_USER. EXIT_WORLD for verbs that answer with 1, as `checkpoint verify` and `diff` do. */
ExitCode where_code(const Options *options);

/* Before work that may take hours: tries whether a file can be made at `path`. */
ExitCode try_output(Arena *arena, const char *path);
/* Refuses an output that is a file of the command line that is read, and a picture that cannot be
 * written. */
ExitCode check_outputs(const Options *options);

/* True if both are the same regular file. */
bool is_same_file(const char *a, const char *b);
/* True if `path` is a file of the folder. */
bool is_file_of(Arena *arena, const char *folder, const char *path);

/* The environment may tell hwloc to describe another machine: then a message says so. False when
 * that machine cannot be read, reported. */
bool say_environment(Compile *c);

/* The GPUs of this machine as NVML reports them, which hwloc knows by their address alone, and
 * whether ranks of cluster = "here" have them. Nothing where there are none. */
void print_gpus(Arena *arena);

/* The library found, or NULL when that was reported. */
Compile *open_compile(void);

/* Reads the job of words[0] with its data and compiles it. False when something was reported;
 * `compiled->draft` is there even so when all that failed is that it does not fit. */
bool compile_job(Compile *c, const Options *options, Compiled *compiled);

/* The first half of it: the job with its data, and this machine where the job is for it. NULL when
 * reported. */
Job *read_job(Compile *c, const Options *options, Machine *machine);

/* Writes the picture of --svg to its file, whole or not at all. */
typedef bool Draw(const void *state, FILE *out); /* false: not all was written */
ExitCode write_picture(const Options *options, Draw *draw, const void *state);

/* Writes a text to the file of -o, beside it and then renamed. A file that is there is refused
 * without --force. */
ExitCode write_answer(Arena *arena, const Options *options, const char *text);

/* The same of a job that is read. */
bool compile_loaded(Compile *c, const Options *options, Job *job, Compiled *compiled);

/* Fills `words` with the program lockstep-rank and what it is handed, a NULL at the end. False:
 * /proc is not mounted. */
enum { WORDS_RANK = 64 };
bool rank_words(const Options *options, const char *plan_path, const char *keep_plan,
                const char **words);
/* A word of such an option that lockstep-rank would refuse; reported. */
ExitCode check_rank_words(const Options *options);

/* Diagnostics: text on stderr, or JSON on stdout. Returns the exit code that they mean. */
ExitCode report(const Compile *c, const Options *options);
ExitCode report_code(const Compile *c); /* prints nothing */

/* The command line as a shell reads it, in one line: "lockstep sbatch job.lua -D slurm.time=12h".
 */
const char *command_line(Arena *arena, const Options *options);

/* Checks that stdout took everything; if not, reports it and returns EXIT_WORLD. */
ExitCode finish_output(ExitCode code);

/* For show and prove: opens the plan words[0], or reports what is wrong with it. */
ExitCode open_plan(const Options *options, Plan *plan);

/* explain --samples: what steps read. */
ExitCode explain_samples(Compile *c, const Options *options, const Plan *plan);

/* True if the file begins as plans do. */
bool is_plan_file(const char *path);

/* The folder that holds this executable. False when the system does not say. */
bool own_folder(char *folder, size_t size_bytes);

#endif
