/* tokenize.c -- lockstep tokenize: token files of texts and documents by a tokenizer, or of a text
 * whose bytes are the tokens, with the end held out for validation. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/job/chat.h"
#include "compiler/show/cli/cli.h"
#include "runtime/documents/documents.h"

/* "5%" or "0.05". strtod would also read 0x1p-3. */
static bool parse_fraction(const char *text, double *fraction) {
  char *end;
  if (text[strspn(text, "0123456789.")] != 0 && text[strspn(text, "0123456789.")] != '%')
    return false;
  *fraction = strtod(text, &end);
  if (end == text) return false;
  if (strcmp(end, "%") == 0)
    *fraction /= 100;
  else if (*end)
    return false;
  return *fraction >= 0 && *fraction < 1;
}

/* The files that were written, their format and vocabulary. */
typedef struct TokenizeReport {
  const char *folder;
  const char *format; /* also the end of the files' names */
  uint32_t vocab;
  int64_t documents; /* 0: of a text, which has none */
  int64_t targets;   /* ids that are targets; those of all documents */
  TokensWritten written;
  const Tokenizer *tokenizer; /* NULL: none */
  DocumentCounts counts;
} TokenizeReport;

static void print_file(const TokenizeReport *r, const char *name, int64_t tokens) {
  char path[4096];
  printf(", \"%s\": {\"path\": ", name);
  snprintf(path, sizeof path, "%s/%s.%s", r->folder, name, r->format);
  print_json_text(path, stdout);
  printf(", \"tokens\": %lld}", (long long)tokens);
}

static void print_json(const TokenizeReport *r) {
  const DocumentCounts *counts = &r->counts;
  printf("{\"version\": 1, \"format\": \"%s\", \"vocab\": %u", r->format, r->vocab);
  if (r->documents > 0)
    printf(", \"documents\": %lld, \"targets\": %lld", (long long)r->documents,
           (long long)r->targets);
  if (r->tokenizer)
    printf(", \"tokenizer\": \"%016llx\", \"specials\": %lld, \"unassigned\": %lld, \"dropped\": "
           "%lld, \"pairs\": %lld, \"pairs_otherwise\": %lld",
           (unsigned long long)tokenizer_hash(r->tokenizer), (long long)counts->texts.specials,
           (long long)counts->texts.unassigned, (long long)counts->texts.dropped,
           (long long)counts->pairs, (long long)counts->pairs_otherwise);
  print_file(r, "train", r->written.train_tokens);
  if (r->written.valid_tokens > 0) print_file(r, "valid", r->written.valid_tokens);
  puts("}");
}

/* Counts that may surprise the author of the texts. */
static void print_counts(Compile *c, const DocumentCounts *counts) {
  const struct {
    int64_t count;
    const char *what;
  } row[] = {{counts->texts.specials, "text%s of special tokens taken as letters (--special)"},
             {counts->texts.unassigned, "character%s newer than this build's Unicode tables"},
             {counts->texts.dropped, "character%s without a token left out"},
             {counts->pairs_otherwise, "pair%s with other ids if encoded joined"}};
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    if (row[i].count == 0) continue;
    printf("counted  %s ", format_count(c->arena, row[i].count));
    printf(row[i].what, plural(row[i].count));
    puts("");
  }
}

static void print_text(Compile *c, const TokenizeReport *r) {
  const char *folder = text_plain(c->arena, r->folder);
  const struct {
    const char *name;
    int64_t tokens;
  } file[] = {{"train", r->written.train_tokens}, {"valid", r->written.valid_tokens}};
  for (int i = 0; i < 2 && file[i].tokens > 0; i++)
    printf("wrote    %s/%s.%s   %s token%s\n", folder, file[i].name, r->format,
           format_count(c->arena, file[i].tokens), plural(file[i].tokens));
  if (r->documents == 0)
    puts("         one token a byte: vocab = 256, format = \"u8\"");
  else
    printf("         %s document%s, %s of the tokens are targets; ids are below %u\n",
           format_count(c->arena, r->documents), plural(r->documents),
           format_count(c->arena, r->targets), r->vocab);
  if (r->documents == 1) puts("         one document, so none is held out");
  if (r->tokenizer && tokenizer_ends(r->tokenizer).eos < 0)
    puts("         no eos is known (tokenizer_config.json): documents have no end token");
  print_counts(c, &r->counts);
}

/* ---- bytes as tokens */

static ExitCode write_text(const char *text, double hold_out, TokenizeReport *report) {
  TokensForeign foreign;
  char why[TOKENS_WHY_BYTES] = "";
  if (tokens_foreign(text, &foreign) && !foreign.is_text)
    return complain(EXIT_USER, "%s is %s, not text: extract the text first", text, foreign.what);
  report->format = "u8";
  report->vocab = 256;
  errno = 0; /* stays 0 where the text itself is refused */
  if (tokens_write_bytes(text, report->folder, hold_out, &report->written, why)) return EXIT_DONE;
  return complain(errno == 0 ? EXIT_USER : write_failure_code(errno), "%s", why);
}

/* ---- documents */

/* A word of `words`, in its place; -1: none of them. `absent`: the option was not given. */
static int word_of(const char *given, const char *const *words, int count, int absent) {
  if (!given) return absent;
  for (int i = 0; i < count; i++)
    if (strcmp(given, words[i]) == 0) return i;
  return -1;
}

static bool read_choices(const Options *options, DocumentOptions *read) {
  static const char *const specials[] = {"text", "parse", "refuse"}, *const ends[] = {"auto",
                                                                                      "none"};
  int special = word_of(options->special, specials, 3, SPECIAL_TEXT);
  int bos = word_of(options->bos, ends, 2, 0), eos = word_of(options->eos, ends, 2, 0);
  if (special < 0)
    return complain(EXIT_USER, "--special is text, parse or refuse, not '%.40s'",
                    options->special) == EXIT_DONE;
  if (bos < 0 || eos < 0)
    return complain(EXIT_USER, "--%s is auto or none, not '%.40s'", bos < 0 ? "bos" : "eos",
                    bos < 0 ? options->bos : options->eos) == EXIT_DONE;
  read->special = (TokenizerSpecial)special;
  if (!read->tokenizer) return true;
  TokenizerEnds known = tokenizer_ends(read->tokenizer);
  read->with_bos = bos == 0 && known.adds_bos;
  read->with_eos = eos == 0 && known.eos >= 0;
  return true;
}

static void print_documents(const TokDocuments *all) {
  for (int64_t i = 0; i < all->count; i++) {
    bool has_mask = false;
    for (int64_t k = all->start[i]; k < all->start[i + 1]; k++) {
      printf("%s%u", k == all->start[i] ? "{\"ids\": [" : ", ", all->ids[k]);
      has_mask |= all->is_target && !all->is_target[k];
    }
    for (int64_t k = all->start[i]; has_mask && k < all->start[i + 1]; k++)
      printf("%s%d", k == all->start[i] ? "], \"mask\": [" : ", ", all->is_target[k]);
    puts("]}");
  }
}

static ExitCode write_documents(const TokDocuments *all, double hold_out, TokenizeReport *report) {
  char why[TOKENS_WHY_BYTES] = "";
  report->format = "tok";
  report->vocab = all->vocab;
  report->documents = all->count;
  for (int64_t i = 0; i < all->start[all->count]; i++)
    report->targets += all->is_target == NULL || all->is_target[i];
  const char *json = report->tokenizer ? tokenizer_path(report->tokenizer) : NULL;
  errno = 0;
  if (tokens_write_documents(all, report->folder, hold_out, json, &report->written, why))
    return EXIT_DONE;
  return complain(write_failure_code(errno), "%s", why);
}

static ExitCode read_documents(const Options *options, const DocumentOptions *read, double hold_out,
                               TokenizeReport *report) {
  TokDocuments all;
  char why[TOKENS_WHY_BYTES] = "";
  if (!documents_read(options->words.at, options->words.count, read, &all, &report->counts, why))
    return complain(EXIT_USER, "%s", why);
  ExitCode code = EXIT_DONE;
  if (options->print_ids)
    print_documents(&all);
  else
    code = write_documents(&all, hold_out, report);
  documents_free(&all);
  return code;
}

static ExitCode with_chat(const Options *options, DocumentOptions *read, double hold_out,
                          TokenizeReport *report) {
  if (!options->chat) return read_documents(options, read, hold_out, report);
  Compile *c = open_compile();
  if (!c) return EXIT_WORLD;
  DocumentChat chat;
  ExitCode code = EXIT_USER;
  if (chat_open(c, options->chat, read->tokenizer, &chat)) {
    read->chat = &chat;
    code = read_documents(options, read, hold_out, report);
    read->chat = NULL;
  } else {
    (void)diags_print(&c->diags, stderr, options->colored);
  }
  chat_close(&chat);
  compile_free(c);
  return code;
}

/* ---- the verb */

static void print_report(const Options *options, const TokenizeReport *report) {
  if (options->json) {
    print_json(report);
  } else if (!options->quiet) {
    Compile *c = compile_new("");
    print_text(c, report);
    compile_free(c);
  }
}

/* The files of the folder are written over. */
static bool is_overwritten(const Options *options, const char *path) {
  static const char *const names[] = {"train.tok", "valid.tok", "train.u8", "valid.u8",
                                      "tokenizer.json"};
  Arena *arena = arena_new();
  bool is_it = false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    is_it |= is_same_file(path, arena_printf(arena, "%s/%s", options->out, names[i]));
  arena_free(arena);
  return is_it;
}

static ExitCode check_options(const Options *options, double *hold_out) {
  const char *wants = options->special     ? "--special"
                      : options->bos       ? "--bos"
                      : options->eos       ? "--eos"
                      : options->chat      ? "--chat"
                      : options->print_ids ? "--print"
                                           : NULL;
  *hold_out = 0.05;
  if (wants && !options->tokenizer)
    return complain(EXIT_USER, "%s is about a tokenizer: add --tokenizer PATH", wants);
  if (!options->out && !options->print_ids)
    return complain(EXIT_USER, "tokenize needs -o FOLDER, where the tokens go");
  if (options->print_ids && (options->out || options->json || options->hold_out))
    return complain(EXIT_USER, "--print writes no files: leave out -o, --hold-out and --json");
  if (options->hold_out && !parse_fraction(options->hold_out, hold_out))
    return complain(EXIT_USER, "--hold-out wants a part below 100%% such as 5%%, not '%.40s'",
                    options->hold_out);
  for (int32_t i = 0; i < options->words.count; i++)
    if (access(options->words.at[i], R_OK) != 0)
      return complain(EXIT_USER, "%s: %s", options->words.at[i], strerror(errno));
  for (int32_t i = 0; options->out != NULL && i < options->words.count; i++)
    if (is_overwritten(options, options->words.at[i]))
      return complain(EXIT_USER,
                      "%s is a file that is read, and -o %s would write over it: name "
                      "another folder",
                      options->words.at[i], options->out);
  return EXIT_DONE;
}

ExitCode verb_tokenize(const Options *options) {
  double hold_out;
  char why[TOKENIZER_WHY_BYTES] = "";
  ExitCode code = check_options(options, &hold_out);
  if (code != EXIT_DONE) return code;
  TokenizeReport report = {.folder = options->out};
  int32_t texts = 0;
  for (int32_t i = 0; i < options->words.count; i++)
    texts += !documents_are_lines(options->words.at[i]);
  if (!options->tokenizer && texts > 0 && options->words.count > 1)
    return complain(EXIT_USER, "bytes are made of one text: give one file, or --tokenizer PATH");
  if (!options->tokenizer && texts > 0) {
    code = write_text(options->words.at[0], hold_out, &report);
  } else {
    DocumentOptions read = {0};
    Tokenizer *tokenizer = options->tokenizer ? tokenizer_open(options->tokenizer, why) : NULL;
    if (options->tokenizer && !tokenizer) return complain(EXIT_USER, "%s", why);
    report.tokenizer = read.tokenizer = tokenizer;
    code = read_choices(options, &read) ? with_chat(options, &read, hold_out, &report) : EXIT_USER;
    if (code == EXIT_DONE && !options->print_ids) print_report(options, &report);
    tokenizer_free(tokenizer);
    return finish_output(code);
  }
  if (code == EXIT_DONE) print_report(options, &report);
  return code;
}
