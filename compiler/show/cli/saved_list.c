/* saved_list.c -- lockstep checkpoint list, show and verify. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/show/cli/saved.h"
#include "runtime/parts/parts.h"

enum { TENSORS_SHOWN = 8 };

static const char *const state_words[] = {
    [SAVED_WHOLE] = "whole",
    [SAVED_DAMAGED] = "damaged",
    [SAVED_UNFINISHED] = "unfinished",
    [SAVED_FOREIGN] = "foreign",
};
static const char *const kept_words[] = {
    [KEPT_NEWEST] = "newest",
    [KEPT_MILESTONE] = "milestone",
    [KEPT_EARLIER] = "earlier",
};

/* ---- list */

static void list_json(const SavedList *list) {
  fputs("{\"version\": 1, \"checkpoints\": [", stdout);
  for (int32_t i = 0; i < list->count; i++) {
    const Saved *s = &list->at[i];
    printf("%s{\"step\": %lld, \"path\": ", i > 0 ? ",\n " : "\n ", (long long)s->step);
    print_json_text(s->path, stdout);
    printf(", \"state\": \"%s\", \"bytes\": %lld, \"parts\": %d, \"kept\": \"%s\", \"why\": ",
           state_words[s->state], (long long)s->bytes, s->parts, kept_words[s->kept]);
    print_json_text(s->why, stdout);
    putchar('}');
  }
  puts("]}");
}

ExitCode saved_verb_list(Compile *c, const Options *options) {
  SavedWhere where;
  SavedList list = {0};
  const ExitCode code = saved_where(c, options, options->words.at[1], &where);
  if (code != EXIT_DONE) return code;
  saved_list(c->arena, where.folder, &list);
  if (options->json) {
    list_json(&list);
    return EXIT_DONE;
  }
  for (int32_t i = 0; i < list.count; i++) {
    const Saved *s = &list.at[i];
    printf("step %-10s %-10s %9s in %d part%s   %s   %s\n", format_count(c->arena, s->step),
           state_words[s->state], format_bytes(c->arena, s->bytes), s->parts,
           plural((uint64_t)s->parts), kept_words[s->kept], text_plain(c->arena, s->path));
    if (*s->why) printf("     %s\n", text_plain(c->arena, s->why));
  }
  if (list.count == 0) printf("%s has no checkpoint\n", text_plain(c->arena, where.folder));
  return EXIT_DONE;
}

/* ---- verify */

typedef struct Verifying {
  Compile *c;
  const Options *options;
  int32_t damaged;
} Verifying;

/* A damaged block may hold hundreds of small tensors: --json names all. */
static void verify_text(const Verifying *v, const PartDamage *damage) {
  long long first = damage->first_byte, bytes = damage->bytes;
  printf("%s   bytes %lld to %lld   %s\n", damage->file, first, first + bytes,
         text_plain(v->c->arena, damage->why));
  int32_t most = damage->tensor_count > TENSORS_SHOWN ? TENSORS_SHOWN - 1 : TENSORS_SHOWN;
  for (int32_t i = 0; i < damage->tensor_count && i < most; i++)
    printf("     %s\n", text_plain(v->c->arena, damage->tensor[i]));
  if (damage->tensor_count > most)
    printf("     and %d more tensors; --json names all\n", damage->tensor_count - most);
}

static void verify_json(const Verifying *v, const PartDamage *damage) {
  fputs(v->damaged > 0 ? ",\n {\"file\": " : "\n {\"file\": ", stdout);
  print_json_text(damage->file, stdout);
  printf(", \"first_byte\": %lld, \"bytes\": %lld, \"tensors\": [", (long long)damage->first_byte,
         (long long)damage->bytes);
  for (int32_t i = 0; i < damage->tensor_count; i++) {
    if (i > 0) fputs(", ", stdout);
    print_json_text(damage->tensor[i], stdout);
  }
  fputs("], \"why\": ", stdout);
  print_json_text(damage->why, stdout);
  putchar('}');
}

static void hear_damage(void *context, const PartDamage *damage) {
  Verifying *v = context;
  if (v->options->json)
    verify_json(v, damage);
  else
    verify_text(v, damage);
  v->damaged++;
}

/* All parts, each read once. The damage is printed as it is found. */
static ExitCode verify_parts(Verifying *v, const SavedOpen *saved) {
  const Manifest *manifest = &saved->checkpoint.manifest;
  const PartSink sink = {hear_damage, v};
  ExitCode code = EXIT_DONE;
  for (int32_t i = 0; i < manifest->part_count; i++) {
    const ManifestPart *part = &manifest->part[i];
    Status status = {0};
    const PartFile file = {&manifest->state,
                           saved->checkpoint.path,
                           {part->number, manifest->facts.step, manifest->facts.save},
                           (int64_t)part->file_bytes,
                           part->sum};
    if (part_check(&file, &sink, &status) == PART_UNREAD)
      code = complain(EXIT_WORLD, "%s", status.text);
  }
  return code;
}

static ExitCode verify_all(Verifying *v, SavedOpen *saved, const char *path) {
  if (saved_open(saved, path)) return verify_parts(v, saved);
  if (saved->failure != 0 && saved->failure != ENOENT)
    return complain(EXIT_WORLD, "%s/%s: cannot be read: %s", path, MANIFEST_FILE,
                    strerror(saved->failure));
  if (saved->fault == MANIFEST_NO_MEMORY) return complain(EXIT_WORLD, "not enough memory");
  const PartDamage damage = {.file = MANIFEST_FILE,
                             .bytes = saved->bytes,
                             .why = saved->failure ? "there is no such file" : saved->why};
  hear_damage(v, &damage);
  return EXIT_DONE;
}

ExitCode saved_verb_verify(Compile *c, const Options *options) {
  SavedOpen *saved = ARENA_NEW(c->arena, SavedOpen);
  Verifying v = {.c = c, .options = options};
  const char *path;
  ExitCode code = saved_find(c, options, options->words.at[1], &path);
  if (code != EXIT_DONE) return code;
  if (options->json) {
    fputs("{\"version\": 1, \"path\": ", stdout);
    print_json_text(path, stdout);
    fputs(", \"damage\": [", stdout);
  }
  code = verify_all(&v, saved, path);
  bool is_whole = code == EXIT_DONE && v.damaged == 0;
  const char *state = is_whole ? "whole" : code == EXIT_DONE ? "damaged" : "unreadable";
  if (options->json)
    printf("], \"state\": \"%s\"", state);
  else
    printf("%s: %s%s\n", text_plain(c->arena, path), state,
           v.damaged > 0 ? ", not to be used" : "");
  if (code == EXIT_DONE && v.damaged > 0) code = EXIT_USER;
  if (is_whole && options->job) code = saved_judge_job(c, options, &saved->checkpoint);
  if (options->json) puts("}");
  saved_close(saved);
  return code;
}
