/* cli.h -- the command line: one verb, one question. Results on stdout, words for people on stderr.
 */
#ifndef LOCKSTEP_CLI_H
#define LOCKSTEP_CLI_H

#include "compiler/compile.h"

typedef enum ExitCode { EXIT_DONE, EXIT_USER, EXIT_WORLD, EXIT_OURS } ExitCode;

enum { WORDS_MAX = 256 };

typedef struct Options {
  const char *verb;
  const char *words[WORDS_MAX]; /* what is neither verb nor option: the job file first */
  int32_t word_count;
  const char *overrides[WORDS_MAX]; /* texts of -D */
  int32_t override_count;
  const char *against[WORDS_MAX]; /* texts of --against, as those of -D */
  int32_t against_count;
  const char *passed[WORDS_MAX]; /* of run: options that lockstep-rank understands */
  int32_t passed_count;
  const char *out;      /* -o */
  const char *why;      /* --why rank=N */
  const char *segment;  /* --segment S */
  const char *svg;      /* --svg FILE, with --schedule */
  const char *hold_out; /* --hold-out 5% */
  bool json, quiet, color, no_data, values, reference, luacats;
  bool layouts, schedule, map; /* screens of explain */
} Options;

/* Fills `options`; on a mistake says it on stderr and returns false. */
bool options_parse(Options *options, int count, char **words);

/* A verb: what it is called, how it is called, what it answers. */
typedef struct Verb {
  const char *name, *usage, *question;
  ExitCode (*run)(const Options *options);
} Verb;
extern const Verb verbs[];
extern const int32_t verb_count;

ExitCode verb_check(const Options *options);
ExitCode verb_compile(const Options *options);
ExitCode verb_explain(const Options *options);
ExitCode verb_show(const Options *options);
ExitCode verb_prove(const Options *options);
ExitCode verb_run(const Options *options);
ExitCode verb_tokenize(const Options *options);
ExitCode verb_help(const Options *options);
ExitCode verb_version(const Options *options);

/* ---- shared by the verbs (common.c) */

/* One line on stderr; returns `code`. */
ExitCode complain(ExitCode code, const char *format, ...) __attribute__((format(printf, 2, 3)));

Compile *open_compile(void);

/* Reads the job of words[0] with its data and compiles it. False when something was reported;
 * `compiled->draft` is there even so when all that failed is that it does not fit. */
bool compile_job(Compile *c, const Options *options, Compiled *compiled);

/* Diagnostics: text on stderr, or JSON on stdout. Returns the exit code that they mean. */
ExitCode report(const Compile *c, const Options *options);

/* The folder that holds this executable. False when the system does not say. */
bool own_folder(char *folder, size_t size_bytes);

#endif
