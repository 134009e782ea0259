/* saved_convert.c -- lockstep checkpoint convert: the checkpoint that the ranks of another job
 * would write of the same state. It streams from part to part: memory holds one chunk, and no rank
 * runs.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/show/cli/dcp.h"
#include "compiler/show/cli/runs.h"
#include "compiler/show/cli/saved.h"
#include "kernels/math/floats.h"
#include "runtime/parts/parts.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/schedule.h"
#include "runtime/process/folder.h"

enum { CHUNK_BYTES = 8 << 20, ELEMENT_BYTES_MAX = 8 };

typedef struct Converting {
  Compile *c;
  const Options *options;
  const SavedOpen *from; /* NULL: `dcp` is converted, */
  DcpFolder *dcp;
  DcpPlace *place; /* of which these are the elements, by item of `to` */
  const Plan *plan;
  State to;
  uint32_t *source; /* by item of `to`: the item of `from` that has its elements */
  SavedReader *reader;
  PartWriter *writer;
  ManifestFacts facts;
  ManifestPart *part;
  int32_t parts;
  const char *folder, *path; /* while it is written, and then */
  uint8_t *chunk, *other;    /* as read; in the dtype of the job */
  ExitCode code;
} Converting;

/* ---- which item has the elements */

/* All or nothing: each tensor of either side is on the other, in the same shape. */
static bool match_items(Converting *cv) {
  const State *from = &cv->from->checkpoint.manifest.state, *to = &cv->to;
  CheckpointChanges changes;
  Status status = {0};
  uint64_t data_sum = cv->from->checkpoint.manifest.run.data_sum; /* no sample is read */
  if (!checkpoint_changes(&cv->from->checkpoint, cv->plan, data_sum, &changes, &status) ||
      !checkpoint_match(&cv->from->checkpoint, cv->plan, &changes, &status))
    cv->code = complain(status.code == STATUS_USER ? EXIT_USER : EXIT_WORLD, "%s", status.text);
  checkpoint_changes_free(&changes);
  cv->source = ARENA_ARRAY(cv->c->arena, uint32_t, to->item_count + 1);
  bool is_good = status.code == 0;
  for (uint32_t i = 0; is_good && i < to->item_count; i++) {
    const StateItem *item = &to->item[i];
    const PlanTensor *tensor = state_tensor(to, item);
    cv->source[i] = checkpoint_source(from, item->name, tensor);
    is_good = checkpoint_same_blocks(from, item->name, to->plan, tensor);
    if (!is_good)
      cv->code = complain(EXIT_USER,
                          "%s: %s of %s is in codes, whose blocks are of other elements in that "
                          "job: a run resumes from it as it is, and codes it anew",
                          cv->from->checkpoint.path, saved_kind(to, item), item->name);
  }
  return is_good;
}

/* ---- parts */

static DType dtype_of(const State *state, uint32_t item) {
  return state_saved_dtype(state_tensor(state, &state->item[item]));
}

/* A weight from its master is rounded as an update rounds it; a master from a weight is that
 * number.
 */
static const void *in_dtype(Converting *cv, DType from, DType to, int64_t count) {
  if (from == to) return cv->chunk;
  for (int64_t i = 0; i < count; i++)
    float_put(cv->other, i, to, float_get(cv->chunk, i, from));
  return cv->other;
}

static bool read_elements(Converting *cv, uint32_t item, const StatePiece *want) {
  return cv->from
             ? saved_read_piece(cv->reader, cv->source[item], want, cv->chunk, &cv->code)
             : dcp_read_place(cv->dcp, &cv->place[item], &cv->to, item, want, cv->chunk, &cv->code);
}

static bool convert_piece(void *context, const StateStored *stored) {
  Converting *cv = context;
  Status status = {0};
  uint32_t item = (uint32_t)(stored->item - cv->to.item);
  DType from = cv->from ? dtype_of(&cv->from->checkpoint.manifest.state, cv->source[item])
                        : dcp_dtype(cv->place[item].tensor);
  DType to = dtype_of(&cv->to, item);
  int64_t most = CHUNK_BYTES / ELEMENT_BYTES_MAX;
  for (int64_t done = 0; done < stored->piece.range_count; done += most) {
    int64_t left = stored->piece.range_count - done, count = left < most ? left : most;
    StatePiece want = state_piece_dense(&stored->piece, done, count);
    if (!read_elements(cv, item, &want)) return false;
    const void *bytes = in_dtype(cv, from, to, count);
    if (part_writer_put(cv->writer, bytes, count * dtype_bytes(to), &status)) continue;
    cv->code = complain(EXIT_WORLD, "%s", status.text);
    return false;
  }
  return true;
}

static bool convert_part(Converting *cv, int32_t number) {
  Status status = {0};
  int64_t bytes = 0;
  const PartId id = {number, cv->facts.step, cv->facts.save};
  ManifestPart *part = &cv->part[cv->parts];
  cv->writer = part_writer_open(&cv->to, &id, cv->folder, &status);
  if (!cv->writer) return complain(EXIT_WORLD, "%s", status.text) == EXIT_DONE;
  if (!state_part_each(&cv->to, number, convert_piece, cv)) {
    part_writer_drop(cv->writer);
    return false;
  }
  if (!part_writer_close(cv->writer, &bytes, &part->sum, &status))
    return complain(EXIT_WORLD, "%s", status.text) == EXIT_DONE;
  part->number = number;
  part->file_bytes = (uint64_t)bytes;
  cv->parts++;
  return true;
}

static bool convert_parts(Converting *cv) {
  cv->part = ARENA_ARRAY(cv->c->arena, ManifestPart, cv->to.numbers);
  cv->chunk = arena_alloc(cv->c->arena, CHUNK_BYTES);
  cv->other = arena_alloc(cv->c->arena, CHUNK_BYTES);
  for (int32_t number = 0; number < cv->to.numbers; number++)
    if (state_part_data(&cv->to, number) > 0 && !convert_part(cv, number)) return false;
  return true;
}

/* ---- the checkpoint */

static bool cannot(const char *path) {
  return cannot_write(path, errno) == EXIT_DONE;
}

static bool write_manifest(const Converting *cv) {
  ManifestText text;
  ManifestRun run = {.data_sum = MANIFEST_DATA_ANY, .sample_tokens = job_sample_tokens(cv->plan)};
  (void)snprintf(run.program, sizeof run.program, "%s", LOCKSTEP_VERSION);
  if (cv->from) run = cv->from->checkpoint.manifest.run;
  const char *path = arena_printf(cv->c->arena, "%s/%s", cv->folder, MANIFEST_FILE);
  run.plan_id = cv->plan->id;
  run.last_step = job_steps(cv->plan);
  if (!manifest_text_open(&text, &cv->to, &run, cv->parts))
    return complain(EXIT_WORLD, "not enough memory for the manifest") == EXIT_DONE;
  size_t bytes = manifest_text(&text, &cv->facts, cv->part, cv->parts);
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bool is_good = file >= 0 && write(file, text.text, bytes) == (ssize_t)bytes && fsync(file) == 0;
  if (file >= 0 && close(file) != 0) is_good = false;
  manifest_text_close(&text);
  return is_good || cannot(path);
}

static bool publish(const Converting *cv) {
  const char *sources = arena_printf(cv->c->arena, "%s/" MANIFEST_SOURCES, cv->folder);
  if (!sources_write(cv->c, sources)) return cannot(sources);
  if (!write_manifest(cv)) return false;
  if (!folder_sync(cv->folder)) return cannot(cv->folder);
  if (rename(cv->folder, cv->path) != 0) return cannot(cv->path);
  return folder_sync(cv->options->out) || cannot(cv->options->out);
}

/* Removes what a conversion that is refused has written. */
static void remove_unfinished(Arena *arena, const char *folder) {
  static const char part[] = "part-";
  char name[PART_FILE_NAME_BYTES];
  int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *items = at >= 0 ? fdopendir(at) : NULL;
  for (struct dirent *item; items && (item = readdir(items)) != NULL;) {
    bool is_part = strncmp(item->d_name, part, sizeof part - 1) == 0;
    long number = is_part ? strtol(item->d_name + sizeof part - 1, NULL, 10) : 0;
    part_file_name(name, (int32_t)number);
    if ((is_part && strcmp(name, item->d_name) == 0) || strcmp(item->d_name, MANIFEST_FILE) == 0)
      (void)unlinkat(at, item->d_name, 0);
  }
  if (items) (void)closedir(items);
  folder_clear(arena_printf(arena, "%s/" MANIFEST_SOURCES, folder));
  (void)rmdir(folder);
}

static bool make_folder(Converting *cv) {
  Arena *arena = cv->c->arena;
  const char *folder;
  cv->path = arena_printf(arena, "%s/step_%08lld", cv->options->out, (long long)cv->facts.step);
  folder = arena_printf(arena, "%s.%lld.new", cv->path, (long long)cv->facts.generation);
  if (access(cv->path, F_OK) == 0) {
    cv->code = complain(EXIT_USER, "%s is there already: name another folder", cv->path);
    return false;
  }
  if (!folder_fresh(arena, folder, &cv->code)) return false;
  cv->folder = folder; /* ours, to be removed if the conversion fails */
  return true;
}

static void say_done(const Converting *cv) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < cv->parts; i++)
    bytes += (int64_t)cv->part[i].file_bytes;
  if (!cv->options->quiet)
    printf("wrote    %s   %s in %d part%s, from %d%s\n", text_plain(cv->c->arena, cv->path),
           format_bytes(cv->c->arena, bytes), cv->parts, plural((uint64_t)cv->parts),
           cv->from ? cv->from->checkpoint.manifest.part_count : cv->dcp->tensor.count,
           cv->from ? "" : " tensors");
}

static ExitCode convert(Converting *cv) {
  Status status = {0};
  if (cv->from) cv->facts = cv->from->checkpoint.manifest.facts;
  struct {
    uint64_t plan;
    int64_t generation, step;
  } of = {cv->plan->id, cv->facts.generation, cv->facts.step};
  cv->facts.save = part_sum(&of, sizeof of);
  cv->code = EXIT_WORLD;
  if (!state_open(&cv->to, cv->plan, &status))
    return complain(status.code == STATUS_WORLD ? EXIT_WORLD : EXIT_OURS, "%s", status.text);
  if (!cv->from) cv->place = ARENA_ARRAY(cv->c->arena, DcpPlace, cv->to.item_count + 1);
  bool is_good =
      cv->from ? match_items(cv)
               : dcp_places(cv->c, cv->dcp, &cv->to, cv->options->names, cv->place, &cv->code);
  if (is_good && cv->from) {
    cv->reader = saved_reader(cv->from);
    is_good =
        cv->reader != NULL || complain(EXIT_WORLD, "not enough memory for the reader") == EXIT_DONE;
  }
  is_good = is_good && make_folder(cv) && convert_parts(cv) && publish(cv);
  if (is_good)
    say_done(cv);
  else if (cv->folder)
    remove_unfinished(cv->c->arena, cv->folder);
  saved_reader_free(cv->reader);
  state_close(&cv->to);
  return is_good ? EXIT_DONE : cv->code;
}

/* ---- from torch */

/* A count of the command line. */
static bool read_count(const char *name, const char *text, int64_t *count) {
  size_t digits = text ? strspn(text, "0123456789") : 0;
  bool is_count = text && digits > 0 && digits < 19 && text[digits] == '\0';
  *count = is_count ? strtoll(text, NULL, 10) : 0;
  return is_count || complain(EXIT_USER,
                              "%s wants a whole number%s%.40s: torch's folder does not say where "
                              "the run was",
                              name, text ? ", not " : "", text ? text : "") == EXIT_DONE;
}

/* Torch's folder has tensors alone: the step and the samples are the user's to say. */
static ExitCode import_dcp(Compile *c, const Options *options) {
  Compiled compiled;
  Options of_job = *options;
  DcpFolder *dcp = ARENA_NEW(c->arena, DcpFolder);
  ManifestFacts facts = {.generation = 1};
  ExitCode code = EXIT_DONE;
  if (!read_count("--step", options->step, &facts.step) ||
      !read_count("--samples", options->samples, &facts.samples))
    return EXIT_USER;
  of_job.words = (Words){.at = {options->job}, .count = 1};
  of_job.no_data = true; /* no sample is read */
  if (!dcp_open(dcp, c->arena, options->words.at[1], &code)) return code;
  if (!compile_job(c, &of_job, &compiled)) return report(c, &of_job);
  facts.lasting.updates = facts.step;
  facts.lasting_mask = CONTROL_BIT(CONTROL_updates);
  facts.lr = schedule_lr(&compiled.plan, facts.step);
  Converting cv = {.c = c, .options = options, .dcp = dcp, .plan = &compiled.plan, .facts = facts};
  code = convert(&cv);
  dcp_close(dcp);
  return compile_failed(c) ? report(c, &of_job) : code; /* the page of names */
}

/* True if a path is a folder, or below it. A relative path is below the current folder. */
static bool is_within(Arena *arena, const char *path, const char *folder) {
  struct stat whole, part;
  char here[PATH_MAX], *slash = NULL;
  const bool is_below = *path != '/' && getcwd(here, sizeof here) != NULL;
  char *at = is_below ? arena_printf(arena, "%s/%s", here, path) : arena_copy(arena, path);
  if (stat(folder, &whole) != 0) return false;
  do {
    if (slash != NULL) *slash = '\0';
    if (stat(at, &part) == 0 && part.st_dev == whole.st_dev && part.st_ino == whole.st_ino)
      return true;
    slash = strrchr(at, '/');
  } while (slash != NULL && slash > at);
  return false;
}

ExitCode saved_verb_convert(Compile *c, const Options *options) {
  SavedOpen *saved = ARENA_NEW(c->arena, SavedOpen);
  Options of_job = *options;
  Compiled compiled;
  if (options->to) return saved_export_dcp(c, options);
  if (options->from) return import_dcp(c, options);
  ExitCode code = saved_open_word(c, options, options->words.at[1], saved);
  if (code == EXIT_DONE && is_within(c->arena, options->out, saved->checkpoint.path))
    code = complain(EXIT_USER, "-o %s is in the checkpoint: name another folder", options->out);
  of_job.words = (Words){.at = {options->job}, .count = 1};
  of_job.no_data = true; /* no sample is read */
  if (code == EXIT_DONE && !compile_job(c, &of_job, &compiled)) code = report(c, &of_job);
  Converting cv = {.c = c, .options = options, .from = saved, .plan = &compiled.plan};
  if (code == EXIT_DONE) code = convert(&cv);
  saved_close(saved);
  return code;
}
