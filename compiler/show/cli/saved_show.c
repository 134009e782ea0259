/* saved_show.c -- lockstep checkpoint show: what made a checkpoint, and what a tensor of it holds.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/show/cli/saved.h"
#include "compiler/show/cli/saved_numbers.h"

enum { CHUNK_ELEMENTS = 1 << 20, ELEMENT_BYTES_MAX = 8, SETTINGS_WIDTH = 32 };

typedef struct Showing {
  Compile *c;
  const Options *options;
  SavedOpen *saved;
} Showing;

static const char *degrees_text(Arena *arena, const Plan *plan) {
  const char *text = "";
  for (uint32_t i = 0; i < plan->axes_count; i++)
    text = arena_printf(arena, "%s%s%s %u", text, i > 0 ? " x " : "",
                        plan_string(plan, plan->axes[i].name), plan->axes[i].size);
  return text;
}

/* The pass over the data, from 1, that the next sample belongs to; 0: unknown. */
static int64_t epoch_of(const Manifest *m) {
  return m->run.epoch_samples > 0 ? m->facts.samples / m->run.epoch_samples + 1 : 0;
}

/* The share that has been read, in percent. */
static double epoch_share(const Manifest *m) {
  int64_t read = m->facts.samples % m->run.epoch_samples;
  return 100 * (double)read / (double)m->run.epoch_samples;
}

static void show_text(const Showing *s) {
  const Manifest *m = &s->saved->checkpoint.manifest;
  const State *state = &m->state;
  Arena *arena = s->c->arena;
  printf("step       %s of %s\n", format_count(arena, m->facts.step),
         format_count(arena, m->run.last_step));
  printf("samples    %s", format_count(arena, m->facts.samples));
  if (m->run.sample_tokens > 1)
    printf(" = %s tokens", format_count(arena, m->facts.samples * m->run.sample_tokens));
  if (m->run.epoch_samples > 0)
    printf("   epoch %s, %.1f %% of it", format_count(arena, epoch_of(m)), epoch_share(m));
  printf("   updates %s   lr %.4g\n", format_count(arena, m->facts.lasting.updates), m->facts.lr);
  printf("degrees    %s\n", degrees_text(arena, &m->plan));
  printf("state      %u tensors, %s in %d part%s\n", state->item_count,
         format_bytes(arena, saved_bytes(m)), m->part_count, plural((uint64_t)m->part_count));
  printf("made by    lockstep %s, plan %016llx, start %lld of the run\n", m->run.program,
         (unsigned long long)m->run.plan_id, (long long)m->facts.generation);
  puts("settings");
  for (uint32_t i = 0; i < m->plan.settings_count; i++)
    printf("  %-*s %s\n", SETTINGS_WIDTH, plan_string(&m->plan, m->plan.settings[i].key),
           text_plain(arena, plan_string(&m->plan, m->plan.settings[i].text)));
  puts("tensors");
  for (uint32_t i = 0; i < state->item_count; i++) {
    const StateItem *item = &state->item[state->sorted[i]];
    printf("  %-52s %-5s %s\n", text_plain(arena, saved_key(arena, state, item)),
           dtype_name(state_saved_dtype(state_tensor(state, item))),
           format_count(arena, saved_elements(state, state->sorted[i])));
  }
}

static void settings_json(const Plan *plan) {
  for (uint32_t i = 0; i < plan->settings_count; i++) {
    fputs(i > 0 ? ",\n  " : "\n  ", stdout);
    print_json_text(plan_string(plan, plan->settings[i].key), stdout);
    fputs(": ", stdout);
    print_json_text(plan_string(plan, plan->settings[i].text), stdout);
  }
}

static void show_json(const Showing *s) {
  const Manifest *m = &s->saved->checkpoint.manifest;
  const State *state = &m->state;
  fputs("{\"version\": 1, \"path\": ", stdout);
  print_json_text(s->saved->checkpoint.path, stdout);
  printf(", \"step\": %lld, \"last_step\": %lld, \"samples\": %lld, \"sample_tokens\": %lld, "
         "\"epoch\": %lld, \"epoch_samples\": %lld, \"updates\": %lld, \"lr\": %.17g, "
         "\"generation\": %lld, \"bytes\": %lld, \"parts\": %d,\n "
         "\"program\": ",
         (long long)m->facts.step, (long long)m->run.last_step, (long long)m->facts.samples,
         (long long)m->run.sample_tokens, (long long)epoch_of(m), (long long)m->run.epoch_samples,
         (long long)m->facts.lasting.updates, m->facts.lr, (long long)m->facts.generation,
         (long long)saved_bytes(m), m->part_count);
  print_json_text(m->run.program, stdout);
  printf(", \"plan\": \"%016llx\", \"degrees\": {", (unsigned long long)m->run.plan_id);
  for (uint32_t i = 0; i < m->plan.axes_count; i++)
    printf("%s\"%s\": %u", i > 0 ? ", " : "", plan_string(&m->plan, m->plan.axes[i].name),
           m->plan.axes[i].size);
  fputs("},\n \"settings\": {", stdout);
  settings_json(&m->plan);
  fputs("},\n \"tensors\": [", stdout);
  for (uint32_t i = 0; i < state->item_count; i++) {
    const StateItem *item = &state->item[state->sorted[i]];
    fputs(i > 0 ? ",\n  {\"name\": " : "\n  {\"name\": ", stdout);
    print_json_text(item->name, stdout);
    printf(", \"kind\": \"%s\", \"dtype\": \"%s\", \"elements\": %lld}", saved_kind(state, item),
           dtype_name(state_saved_dtype(state_tensor(state, item))),
           (long long)saved_elements(state, state->sorted[i]));
  }
  puts("]}");
}

/* ---- one tensor */

typedef struct NumberCounts {
  double least, most, squares;
  int64_t finite, nans, infinite;
} NumberCounts;

static void add_number(NumberCounts *n, double value) {
  if (isnan(value)) {
    n->nans++;
  } else if (isinf(value)) {
    n->infinite++;
  } else {
    if (n->finite == 0 || value < n->least) n->least = value;
    if (n->finite == 0 || value > n->most) n->most = value;
    n->squares += value * value;
    n->finite++;
  }
}

static bool read_numbers(const Showing *s, uint32_t item, NumberCounts *n, ExitCode *code) {
  const State *state = &s->saved->checkpoint.manifest.state;
  DType dtype = state_saved_dtype(state_tensor(state, &state->item[item]));
  int64_t elements = saved_elements(state, item);
  SavedReader *reader = saved_reader(s->saved);
  void *chunk = arena_alloc(s->c->arena, (size_t)CHUNK_ELEMENTS * ELEMENT_BYTES_MAX);
  bool is_read = reader != NULL;
  *n = (NumberCounts){0};
  for (int64_t first = 0; is_read && first < elements; first += CHUNK_ELEMENTS) {
    int64_t left = elements - first, count = left < CHUNK_ELEMENTS ? left : CHUNK_ELEMENTS;
    is_read = saved_read(reader, item, first, count, chunk, code);
    for (int64_t i = 0; is_read && i < count; i++)
      add_number(n, number_at(chunk, dtype, i));
  }
  saved_reader_free(reader);
  return is_read;
}

/* Where a piece of the tensor is, as a line or as JSON. */
typedef struct PieceLines {
  const Showing *s;
  int32_t count;
} PieceLines;

static bool show_piece(void *context, const StateStored *stored) {
  PieceLines *pieces = context;
  const StatePiece *piece = &stored->piece;
  bool is_json = pieces->s->options->json;
  if (is_json)
    printf("%s{\"part\": %d, \"box\": [", pieces->count > 0 ? ",\n  " : "\n  ", stored->number);
  else
    printf("part %05d   box", stored->number);
  for (int32_t i = 0; i < piece->dims; i++)
    printf("%s[%lld, %lld]",
           i > 0     ? ", "
           : is_json ? ""
                     : " ",
           (long long)piece->first[i], (long long)piece->count[i]);
  printf(is_json ? "], \"range\": [%lld, %lld]}" : "   elements %lld, %lld of it\n",
         (long long)piece->range_first, (long long)piece->range_count);
  pieces->count++;
  return true;
}

static bool show_pieces(const Showing *s, uint32_t item) {
  const State *state = &s->saved->checkpoint.manifest.state;
  PieceLines pieces = {.s = s};
  StatePiece want = saved_whole(state, item);
  return state_sources(state, item, &want, show_piece, &pieces);
}

static ExitCode show_tensor(const Showing *s, uint32_t item) {
  const State *state = &s->saved->checkpoint.manifest.state;
  const StateItem *at = &state->item[item];
  Arena *arena = s->c->arena;
  NumberCounts n;
  ExitCode code = EXIT_WORLD;
  StatePiece whole = saved_whole(state, item);
  if (!read_numbers(s, item, &n, &code)) return code;
  const char *dtype = dtype_name(state_saved_dtype(state_tensor(state, at)));
  const char *shape = "";
  for (int32_t i = 0; i < whole.dims; i++)
    shape = arena_printf(arena, "%s%s%lld", shape, i > 0 ? ", " : "", (long long)whole.shape[i]);
  if (s->options->json) {
    fputs("{\"version\": 1, \"name\": ", stdout);
    print_json_text(at->name, stdout);
    printf(", \"kind\": \"%s\", \"dtype\": \"%s\", \"shape\": [%s], \"least\": %.9g, \"most\": "
           "%.9g, \"norm\": %.9g, \"nans\": %lld, \"infinite\": %lld,\n \"pieces\": [",
           saved_kind(state, at), dtype, shape, n.least, n.most, sqrt(n.squares), (long long)n.nans,
           (long long)n.infinite);
  } else {
    printf("%s   %s [%s]\nrange      %.6g to %.6g   norm %.6g\n",
           text_plain(arena, saved_key(arena, state, at)), dtype, shape, n.least, n.most,
           sqrt(n.squares));
    printf("not finite %s NaN, %s infinite\n", format_count(arena, n.nans),
           format_count(arena, n.infinite));
  }
  bool is_shown = show_pieces(s, item);
  if (s->options->json) puts("]}");
  return is_shown ? EXIT_DONE : EXIT_WORLD;
}

/* The items of that name: by key "NAME/KIND", or all kinds of "NAME". */
static ExitCode show_named(const Showing *s, const char *word) {
  const State *state = &s->saved->checkpoint.manifest.state;
  ExitCode code = EXIT_DONE;
  int32_t found = 0;
  const char **keys = ARENA_ARRAY(s->c->arena, const char *, state->item_count + 1);
  for (uint32_t i = 0; i < state->item_count && code == EXIT_DONE; i++) {
    const StateItem *item = &state->item[state->sorted[i]];
    keys[i] = saved_key(s->c->arena, state, item);
    const char *full = arena_printf(s->c->arena, "%s/%s", item->name, saved_kind(state, item));
    bool is_it = strcmp(keys[i], word) == 0 || strcmp(full, word) == 0;
    bool is_name = !is_it && strcmp(item->name, word) == 0 && !s->options->json;
    if (!is_it && !is_name) continue;
    code = show_tensor(s, state->sorted[i]);
    found++;
    if (is_it && s->options->json) return code;
  }
  if (found > 0) return code;
  const char *near = nearest_word(word, keys, (int32_t)state->item_count);
  return complain(EXIT_USER, "%s has no tensor %s%s%s%s", s->saved->checkpoint.path, word,
                  near ? "; did you mean " : ": lockstep checkpoint show lists them",
                  near ? near : "", near ? "?" : "");
}

ExitCode saved_verb_show(Compile *c, const Options *options) {
  Showing s = {.c = c, .options = options, .saved = ARENA_NEW(c->arena, SavedOpen)};
  ExitCode code = saved_open_word(c, options, options->words.at[1], s.saved);
  if (code == EXIT_DONE && options->words.count > 2)
    code = show_named(&s, options->words.at[2]);
  else if (code == EXIT_DONE && options->json)
    show_json(&s);
  else if (code == EXIT_DONE)
    show_text(&s);
  saved_close(s.saved);
  return code;
}
