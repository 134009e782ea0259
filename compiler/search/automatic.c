#include "compiler/search/automatic.h"

#include <assert.h>
#include <string.h>

#include "compiler/draft/cost/cost.h"
#include "compiler/job/pipelines/pipeline.h"
#include "compiler/search/fit.h"

/* Shares of a kind are tried in fourths; the other kind makes up what is missing, by layers. */
enum { FILLS_MOST = 6, NARROWS_MOST = 6, LEVELS = 4, OTHERS_MOST = 8 };

/* A way to make the job fit. */
typedef struct WayToFit {
  Recompute recompute;
  Moves moves;
  int64_t *states, *frames; /* of moves, by stage */
  Draft *draft;
  bool updates_here; /* states stream to the device */
  bool fits;
  int64_t step_ns; /* 0: not known */
} WayToFit;

/* The kinds that move with the states, and the side on which updates run. */
typedef struct Way {
  Moves more;
  bool updates_here;
} Way;

typedef struct Auto {
  Compile *c;
  const Job *job;
  Compiled *out;
  int32_t stages;
  bool is_timed; /* the rates of all that would move are known */
  bool takes_frames, takes_update, takes_grads, takes_weights, takes_files;
  bool has_best;
  WayToFit best;       /* has_best: that fits; else the smallest */
  int64_t least_ns[2]; /* of those that fit, by whether updates are on the device; 0: none */
  WayToFit tried[OTHERS_MOST]; /* the best of each recomputation, for the reasons */
  int32_t tried_count;
} Auto;

static int64_t step_ns(const Auto *a, const WayToFit *place) {
  return a->is_timed ? fit_step_ns(a->c, a->job, a->out, place->draft) : 0;
}

static bool has_bytes(const Auto *a, const int64_t *bytes) {
  for (int32_t s = 0; s < a->stages; s++)
    if (bytes[s] > 0) return true;
  return false;
}

/* False when reported. */
static bool draw(Auto *a, WayToFit *place) {
  a->out->updates_here = place->updates_here;
  place->moves.state_bytes = has_bytes(a, place->states) ? place->states : NULL;
  place->moves.frame_bytes = has_bytes(a, place->frames) ? place->frames : NULL;
  a->out->moves = place->moves;
  place->draft = fit_once(a->c, a->job, a->out, place->recompute);
  if (place->draft == NULL) return false;
  place->fits =
      place->draft->arena_bytes <= a->out->budget_bytes && fit_hosts(a->out, place->draft);
  return true;
}

static WayToFit place_of(const Auto *a, Recompute recompute, Draft *draft) {
  return (WayToFit){.recompute = recompute,
                    .states = ARENA_ARRAY(a->c->arena, int64_t, a->stages),
                    .frames = ARENA_ARRAY(a->c->arena, int64_t, a->stages),
                    .draft = draft};
}

static int64_t moved_bytes(const WayToFit *place, int32_t stage, bool of_frames) {
  const Moved *moved = &place->draft->stages[stage].moved;
  return of_frames ? moved->frame_bytes : moved->state_bytes;
}

static int64_t over_bytes(const Auto *a, const WayToFit *place, int32_t stage) {
  return place->draft->stages[stage].arena_bytes[TIER_DEVICE] - a->out->budget_bytes;
}

/* Between `few` bytes of a stage, which are not enough, and those that have moved, which are: half
 * of the layers between. False: there are none. */
static bool halve(const WayToFit *place, int32_t stage, bool of_frames, int64_t few,
                  int64_t *bytes) {
  const Moved *moved = &place->draft->stages[stage].moved;
  const int64_t last = of_frames ? moved->last_frame_bytes : moved->last_state_bytes;
  const int64_t less = moved_bytes(place, stage, of_frames) - last - few;
  if (less <= 0) return false;
  *bytes = few + (less + 1) / 2;
  return true;
}

/* Moves fewer layers of a kind, as few as are enough: what was added at once may have been more.
 * Stages are tried together; one that gets too few layers keeps what it had. */
static bool narrow(Auto *a, WayToFit *place, bool of_frames, int64_t *few) {
  const size_t size_bytes = (size_t)a->stages * sizeof *few;
  bool is_done = false;
  for (int32_t i = 0; i < NARROWS_MOST && !is_done; i++) {
    WayToFit less = place_of(a, place->recompute, place->draft);
    less.moves = place->moves;
    less.updates_here = place->updates_here;
    memcpy(less.states, place->states, size_bytes);
    memcpy(less.frames, place->frames, size_bytes);
    int64_t *bytes = of_frames ? less.frames : less.states;
    is_done = true;
    for (int32_t s = 0; s < a->stages; s++)
      if (halve(place, s, of_frames, few[s], &bytes[s])) is_done = false;
    if (is_done) break;
    if (!draw(a, &less)) return false;
    bool is_enough = true;
    for (int32_t s = 0; s < a->stages; s++) {
      if (over_bytes(a, &less, s) <= 0) continue;
      few[s] = moved_bytes(&less, s, of_frames);
      is_enough = false;
    }
    if (is_enough) *place = less;
  }
  return true;
}

/* Moves as much more of a kind as each stage lacks, and at last all of it. The other bytes of a
 * stage hardly change, so the second draft mostly fits; the other tries make up for what does not
 * lie at the peak. */
static bool fill(Auto *a, WayToFit *place, bool of_frames) {
  int64_t *bytes = of_frames ? place->frames : place->states;
  int64_t *few = ARENA_ARRAY(a->c->arena, int64_t, a->stages);
  for (int32_t s = 0; s < a->stages; s++)
    few[s] = moved_bytes(place, s, of_frames);
  for (int32_t i = 0; i < FILLS_MOST && place->draft->arena_bytes > a->out->budget_bytes; i++) {
    bool is_stuck = i > 0; /* all has moved */
    for (int32_t s = 0; s < a->stages; s++) {
      const int64_t over = over_bytes(a, place, s), moved = moved_bytes(place, s, of_frames);
      const Moved *all = &place->draft->stages[s].moved;
      if (over <= 0) continue;
      is_stuck &= moved == few[s];
      few[s] = moved;
      bytes[s] = i + 1 < FILLS_MOST ? moved + over
                 : of_frames        ? all->all_frame_bytes
                                    : all->all_state_bytes;
    }
    if (is_stuck) break;
    if (!draw(a, place)) return false;
  }
  return place->draft->arena_bytes > a->out->budget_bytes || narrow(a, place, of_frames, few);
}

/* `is_more`: it moves more than is needed, which must be worth a hundredth of the step. */
static void consider(Auto *a, WayToFit *place, bool is_more) {
  int64_t *least_ns = &a->least_ns[place->updates_here];
  if (place->fits) place->step_ns = step_ns(a, place);
  if (place->fits && (*least_ns == 0 || place->step_ns < *least_ns)) *least_ns = place->step_ns;
  const int64_t worth_ns = place->step_ns + (is_more ? place->step_ns / 100 : 0);
  const bool is_better = a->has_best ? place->fits && worth_ns < a->best.step_ns
                                     : place->fits || a->best.draft == NULL ||
                                           place->draft->arena_bytes < a->best.draft->arena_bytes;
  a->has_best |= place->fits;
  if (is_better) a->best = *place;
  WayToFit *tried = &a->tried[a->tried_count - 1];
  if (place->fits && (!tried->fits || worth_ns < tried->step_ns)) *tried = *place;
}

/* Some fourths of one kind move, and of the other as much as is missing then. */
static bool try_level(Auto *a, Recompute recompute, Draft *draft, int32_t level, bool of_frames,
                      Way way) {
  WayToFit place = place_of(a, recompute, draft);
  place.moves = way.more;
  place.updates_here = way.updates_here;
  for (int32_t s = 0; s < a->stages; s++) {
    const Moved *all = &draft->stages[s].moved;
    if (of_frames)
      place.frames[s] = all->all_frame_bytes / LEVELS * level;
    else
      place.states[s] = all->all_state_bytes / LEVELS * level;
  }
  const bool differs =
      level > 0 || way.more.grads || way.more.weights || way.more.to_files || way.updates_here;
  if (differs && !draw(a, &place)) return false;
  if (level > 0 && place.draft->arena_bytes <= a->out->budget_bytes) {
    /* Less of it is tried, too. A fast host may still be better than the device's own updates. */
    if (!of_frames && a->is_timed) consider(a, &place, true);
    return true;
  }
  if (!fill(a, &place, !of_frames)) return false;
  consider(a, &place, false);
  return true;
}

/* Large plans are tried in fewer ways: each is compiled. */
static int32_t stride_of(const Draft *draft) {
  enum { MANY_CALLS = 6000 };
  int64_t calls = 0;
  for (int32_t s = 0; s < draft->stage_count; s++)
    calls += draft->stages[s].programs[PROGRAM_TRAIN_STEP].calls.count;
  return calls > MANY_CALLS ? LEVELS : 1;
}

/* All ways with this recomputation, or, without rates, the first that fits. */
static bool try_moves(Auto *a, Recompute recompute, Draft *draft, Way way) {
  const int32_t stride = stride_of(draft);
  for (int32_t level = 0; level <= (a->takes_frames ? LEVELS : 0); level += stride) {
    if (!a->is_timed && a->has_best) return true;
    if (!try_level(a, recompute, draft, level, true, way)) return false;
  }
  for (int32_t level = 0; level <= LEVELS && a->takes_frames; level += stride) {
    if (!a->is_timed && a->has_best) return true;
    if (!try_level(a, recompute, draft, level, false, way)) return false;
  }
  return true;
}

/* With moves a step takes no less time than without. */
static bool try_recompute(Auto *a, Recompute recompute, Draft *draft) {
  WayToFit place = place_of(a, recompute, draft);
  place.fits = draft->arena_bytes <= a->out->budget_bytes && fit_hosts(a->out, draft);
  if (a->tried_count < OTHERS_MOST) a->tried[a->tried_count++] = (WayToFit){.recompute = recompute};
  if (a->is_timed && a->has_best && step_ns(a, &place) >= a->best.step_ns) return true;
  consider(a, &place, false);
  if (place.fits) return true;
  if (!try_moves(a, recompute, draft, (Way){0})) return false;
  const Way ways[] = {{.more.grads = true}, {.updates_here = true}};
  const bool takes[] = {a->takes_grads, a->takes_update};
  for (size_t i = 0; i < sizeof ways / sizeof *ways && a->is_timed; i++)
    if (takes[i] && !try_moves(a, recompute, draft, ways[i])) return false;
  return true;
}

/* Weights and files cost more than the other kinds: they move only where nothing else fits. */
static bool try_more(Auto *a, Recompute recompute, Draft *draft) {
  enum { GRADS = 1, WEIGHTS = 2, FILES = 4, ALL = 7 };
  for (int32_t kinds = GRADS; kinds <= ALL && !a->has_best; kinds++) {
    const Moves more = {.grads = (kinds & GRADS) != 0,
                        .weights = (kinds & WEIGHTS) != 0,
                        .to_files = (kinds & FILES) != 0};
    if ((more.grads && !a->takes_grads) || (more.weights && !a->takes_weights) ||
        (more.to_files && !a->takes_files))
      continue;
    if (!try_moves(a, recompute, draft, (Way){.more = more})) return false;
  }
  return true;
}

/* Leaves out layers of each kind that the best way moves and does not need: a kind was moved in
 * fourths, and the other one filled up beside it. Not where a step would be longer without them. */
static bool drop_spare(Auto *a) {
  const bool kinds[] = {false, true};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds && a->has_best; k++) {
    WayToFit less = a->best;
    int64_t *few = ARENA_ARRAY(a->c->arena, int64_t, a->stages);
    if (!narrow(a, &less, kinds[k], few)) return false;
    if (less.draft == a->best.draft || !less.fits) continue;
    less.step_ns = step_ns(a, &less);
    if (less.step_ns > a->best.step_ns) continue;
    for (int32_t i = 0; i < a->tried_count; i++)
      if (a->tried[i].draft == a->best.draft) a->tried[i] = less;
    a->best = less;
  }
  return true;
}

/* ---- why */

static const char *recompute_words(const Auto *a, Recompute recompute) {
  static const char *const words[] = {[CHOICE_RECOMPUTE_NONE] = "none",
                                      [CHOICE_RECOMPUTE_SELECTIVE] = "selective",
                                      [CHOICE_RECOMPUTE_BLOCK] = "block"};
  if (recompute.choice == CHOICE_RECOMPUTE_EVERY)
    return arena_printf(a->c->arena, "every %lld blocks", (long long)recompute.group_layers);
  return words[recompute.choice];
}

static int64_t most_of(const Auto *a, const WayToFit *place, bool of_frames) {
  int64_t most = 0;
  for (int32_t s = 0; s < a->stages; s++) {
    const Moved *moved = &place->draft->stages[s].moved;
    const int64_t bytes = of_frames ? moved->frame_bytes : moved->state_bytes;
    if (bytes > most) most = bytes;
  }
  return most;
}

static const char *moved_words(const Auto *a, const WayToFit *place) {
  Arena *arena = a->c->arena;
  const int64_t states = most_of(a, place, false), frames = most_of(a, place, true);
  const char *text =
      states == 0 ? "" : arena_printf(arena, "%s of states", format_bytes(arena, states));
  if (states > 0 && (place->moves.weights || place->moves.grads))
    text = arena_printf(arena, "%s with their %s%s%s", text, place->moves.grads ? "gradients" : "",
                        place->moves.grads && place->moves.weights ? " and " : "",
                        place->moves.weights ? "weights" : "");
  if (frames > 0)
    text = arena_printf(arena, "%s%s%s of what forward keeps", text, states > 0 ? ", " : "",
                        format_bytes(arena, frames));
  return *text == '\0' ? "nothing" : text;
}

/* As a value of memory.recompute. */
static const char *recompute_key(Arena *arena, Recompute recompute) {
  switch (recompute.choice) {
  case CHOICE_RECOMPUTE_NONE: return "\"none\"";
  case CHOICE_RECOMPUTE_SELECTIVE: return "\"selective\"";
  case CHOICE_RECOMPUTE_BLOCK: return "\"block\"";
  default:
    return arena_printf(arena, "{ \"every\", blocks = %lld }", (long long)recompute.group_layers);
  }
}

/* The keys that say the same. */
static const char *keys_words(const Auto *a, const WayToFit *place) {
  Arena *arena = a->c->arena;
  const int64_t states = most_of(a, place, false), frames = most_of(a, place, true);
  const char *text = "";
  if (states > 0)
    text = arena_printf(arena, "optimizer = { \"%s\", most = \"%lldB\" }",
                        place->moves.to_files ? "nvme" : "cpu", (long long)states);
  if (states > 0 && place->moves.to_files && field_is_said(a->job, FIELD_offload_path))
    text = arena_printf(arena, "%s, path = \"%s\"", text, a->job->offload.path);
  if (states > 0 && place->moves.grads) text = arena_printf(arena, "%s, grads = \"cpu\"", text);
  if (states > 0 && place->moves.weights) text = arena_printf(arena, "%s, weights = \"cpu\"", text);
  if (states > 0 && place->draft->updates_here)
    text = arena_printf(arena, "%s, update = \"device\"", text);
  if (frames > 0)
    text = arena_printf(arena, "%s%sactivations = { \"cpu\", most = \"%lldB\" }", text,
                        *text == '\0' ? "" : ", ", (long long)frames);
  const bool is_chosen = *text != '\0' && a->job->memory.recompute == CHOICE_RECOMPUTE_AUTO;
  return is_chosen ? arena_printf(arena, "%s; memory.recompute = %s", text,
                                  recompute_key(arena, place->recompute))
                   : text;
}

static const char *duration_words(const Auto *a, int64_t ns) {
  return ns >= 1000000000 ? arena_printf(a->c->arena, "%.2f s", (double)ns * 1e-9)
                          : arena_printf(a->c->arena, "%.1f ms", (double)ns * 1e-6);
}

/* Without the last layer that has moved, and with one more. False when reported. */
static bool neighbours(Auto *a, const char **text) {
  Arena *arena = a->c->arena;
  const bool of_frames = most_of(a, &a->best, false) == 0;
  WayToFit less = place_of(a, a->best.recompute, NULL), more = less;
  more.states = ARENA_ARRAY(arena, int64_t, a->stages);
  more.frames = ARENA_ARRAY(arena, int64_t, a->stages);
  less.moves = more.moves = a->best.moves;
  less.updates_here = more.updates_here = a->best.updates_here;
  for (int32_t s = 0; s < a->stages; s++) {
    const Moved *moved = &a->best.draft->stages[s].moved;
    less.states[s] = moved->state_bytes - (of_frames ? 0 : moved->last_state_bytes);
    less.frames[s] = moved->frame_bytes - (of_frames ? moved->last_frame_bytes : 0);
    more.states[s] = moved->state_bytes + !of_frames;
    more.frames[s] = moved->frame_bytes + of_frames;
  }
  if (!draw(a, &less) || !draw(a, &more)) return false;
  const int64_t over = less.draft->arena_bytes - a->out->budget_bytes;
  *text = over > 0 ? arena_printf(arena, "a layer less: %s too much", format_bytes(arena, over))
                   : "a layer less would fit, too";
  const int64_t saved = a->best.draft->arena_bytes - more.draft->arena_bytes;
  *text = saved > 0
              ? arena_printf(arena, "%s; one more: %s less", *text, format_bytes(arena, saved))
              : arena_printf(arena, "%s; one more would free nothing", *text);
  if (a->is_timed && saved > 0)
    *text =
        arena_printf(arena, "%s, and a step of %s", *text, duration_words(a, step_ns(a, &more)));
  return true;
}

static bool explain(Auto *a) {
  Arena *arena = a->c->arena;
  VEC(const char *) lines = {0};
  const char *keys = keys_words(a, &a->best), *around = NULL;
  const char *moved = moved_words(a, &a->best);
  VEC_PUSH(arena, &lines,
           *keys == '\0' ? "nothing moved" : arena_printf(arena, "%s moved: %s", moved, keys));
  for (int32_t i = 0; i < a->tried_count && a->is_timed; i++) {
    const WayToFit *tried = &a->tried[i];
    if (!tried->fits) continue;
    VEC_PUSH(arena, &lines,
             arena_printf(arena, "recompute %s, %s moved: %s a step%s",
                          recompute_words(a, tried->recompute), moved_words(a, tried),
                          duration_words(a, tried->step_ns),
                          tried->draft == a->best.draft ? ", taken" : ""));
  }
  if (*keys != '\0' && a->has_best) {
    if (!neighbours(a, &around)) return false;
    VEC_PUSH(arena, &lines, around);
  }
  VEC_PUSH(arena, &lines, NULL);
  a->out->why = lines.at;
  return true;
}

static bool rates_are_known(const Draft *draft) {
  const Cluster *cluster = draft->cluster;
  return cost_peak(draft) > 0 && cluster->host_link_bytes_per_s > 0 &&
         (cluster->host_bytes_per_s > 0 || cluster->update_bytes_per_s > 0 ||
          cluster->target == TARGET_CPU);
}

bool automatic_choose(Compile *c, const Job *job, Compiled *out, const Recompute *tries,
                      Draft *const *drafts, int32_t count) {
  const bool all_kinds =
      job->offload.head == CHOICE_OFFLOAD_AUTO && !field_is_said(job, FIELD_offload_optimizer);
  const bool is_here = job->offload.update == CHOICE_UPDATES_DEVICE; /* of states alone */
  const Derived *derived = &out->derived;
  Auto a = {.c = c,
            .job = job,
            .out = out,
            .stages = drafts[0]->stage_count,
            .is_timed = all_kinds && rates_are_known(drafts[0]),
            .takes_frames = all_kinds && !field_is_said(job, FIELD_offload_activations),
            .takes_update = job->offload.update == CHOICE_UPDATES_AUTO,
            .takes_grads = all_kinds && !is_here && !field_is_said(job, FIELD_offload_grads) &&
                           (derived->pp == 1 || !pipe_rules[job->parallel.pipeline].is_split),
            .takes_weights = all_kinds && !is_here && !field_is_said(job, FIELD_offload_weights) &&
                             (derived->zero == 3 || derived->dp * derived->cp == 1),
            .takes_files = !is_here && job->offload.path != NULL};
  if (drafts[0]->arena_bytes <= out->budget_bytes) return true;
  int32_t least = 0; /* the recomputation that leaves the smallest arena */
  for (int32_t i = 1; i < count; i++)
    if (drafts[i]->arena_bytes < drafts[least]->arena_bytes) least = i;
  for (int32_t i = 0; i < count; i++) /* without rates recomputation comes first, then moves */
    if ((a.is_timed || i == least) && !try_recompute(&a, tries[i], drafts[i])) return false;
  if (!try_more(&a, tries[least], drafts[least]) || !drop_spare(&a)) return false;
  assert(a.best.draft != NULL); /* of that recomputation at least */
  out->recompute = a.best.recompute;
  const Moves moves = a.best.moves;
  const bool explained = explain(&a);
  out->moves = moves;
  out->updates_here = a.best.updates_here;
  if (a.best.draft->offloads_state && a.least_ns[0] > 0 && a.least_ns[1] > 0)
    out->host_step_ns = a.least_ns[0], out->device_step_ns = a.least_ns[1];
  out->draft = a.best.draft;
  return explained;
}
