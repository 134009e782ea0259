/* effects.c -- a call, looked at once for all calls that find the same.
 *
 * What a call does follows from its segment, its flags, and what stands where its bases point, all
 * relative to its layer and micro-batch. */
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/hash.h"
#include "compiler/prove/types/programs.h"

enum { POSTS_MAX = 16, KEY_MAX = 4 + TYPING_BASES_MAX * 6 + POSTS_MAX * 3 };

bool effects_open(Effects *effects) {
  *effects = (Effects){.capacity = 256, .word_capacity = 4096, .slot_count = 1024};
  effects->effect = calloc(effects->capacity, sizeof *effects->effect);
  effects->word = calloc(effects->word_capacity, sizeof *effects->word);
  effects->slot = calloc(effects->slot_count, sizeof *effects->slot);
  return effects->effect != NULL && effects->word != NULL && effects->slot != NULL;
}

void effects_close(Effects *effects) {
  free(effects->effect);
  free(effects->word);
  free(effects->slot);
}

void effects_forget(Effects *effects) {
  effects->count = effects->word_count = 0;
  memset(effects->slot, 0, effects->slot_count * sizeof *effects->slot);
}

static int32_t call_layer(const Typing *t) {
  return t->walk.call->layer < 0 ? 0 : t->walk.call->layer;
}

/* Which cells the call's bases are in. False: more than there is room for. */
static bool reach(Typing *t) {
  t->reached_count = 0;
  if (t->walk.segment->bases_count > TYPING_BASES_MAX) {
    refuse(t, "more than %d bases", TYPING_BASES_MAX);
    return false;
  }
  if (t->walk.call->posts_count > POSTS_MAX) {
    refuse(t, "more than %d posts", POSTS_MAX);
    return false;
  }
  for (uint32_t base = 0; base < t->walk.segment->bases_count; base++) {
    uint32_t buffer = walk_buffer(&t->walk, base), i = 0;
    t->base_reached[base] = PLAN_NONE;
    if (buffer == PLAN_NONE) continue; /* nothing that runs touches it */
    if (t->plan->bindings[t->walk.call->bindings_first + base].by != PLAN_NONE) {
      refuse(t, "base %u stands elsewhere on each rank", base);
      return false;
    }
    uint64_t address = walk_base(&t->walk, base);
    uint32_t cell = cell_at(t->view, &t->cells, buffer, address);
    while (i < t->reached_count && t->reached[i].cell != cell)
      i++;
    if (i == t->reached_count) t->reached[t->reached_count++].cell = cell;
    t->base_reached[base] = i;
    t->base_offset[base] = address - t->cells.at[cell].first;
  }
  return true;
}

static uint32_t make_key(const Typing *t, const Held *held, uint32_t *key) {
  uint32_t count = 0;
  key[count++] = t->walk.call->segment;
  key[count++] = t->walk.call->flags;
  key[count++] = t->made;
  key[count++] = t->walk.program->kind;
  for (uint32_t base = 0; base < t->walk.segment->bases_count; base++) {
    uint32_t i = t->base_reached[base];
    key[count++] = i;
    if (i == PLAN_NONE) continue;
    const Held *at = &held[t->reached[i].cell];
    key[count++] = (uint32_t)t->base_offset[base];
    key[count++] = (uint32_t)(t->base_offset[base] >> 32);
    key[count++] = at->content;
    key[count++] = at->content == 0 ? 0 : (uint32_t)(at->layer - call_layer(t));
    key[count++] = at->content == 0 ? 0 : (uint32_t)(at->microbatch - t->walk.microbatch);
  }
  for (uint32_t i = 0; i < t->walk.call->posts_count; i++) {
    const PlanPost *post = &t->plan->posts[t->walk.call->posts_first + i];
    key[count++] = post->kind;
    key[count++] = post->depth - (uint32_t)call_layer(t);
    key[count++] = post->microbatch + (uint32_t)t->added - (uint32_t)t->walk.microbatch;
  }
  return count;
}

static uint64_t hash_words(const uint32_t *word, uint32_t count) {
  uint64_t hash = count;
  for (uint32_t i = 0; i < count; i++)
    hash = hash_mix(hash, word[i]);
  return hash;
}

static struct Effect *find_effect(const Effects *effects, const uint32_t *key, uint32_t count,
                                  uint64_t hash) {
  for (uint64_t at = hash & (effects->slot_count - 1); effects->slot[at] != 0;
       at = (at + 1) & (effects->slot_count - 1)) {
    struct Effect *effect = &effects->effect[effects->slot[at] - 1];
    if (effect->hash == hash && effect->key_count == count &&
        memcmp(effects->word + effect->key, key, count * sizeof *key) == 0)
      return effect;
  }
  return NULL;
}

static void place_effect(Effects *effects, uint32_t number) {
  uint64_t at = effects->effect[number].hash & (effects->slot_count - 1);
  while (effects->slot[at] != 0)
    at = (at + 1) & (effects->slot_count - 1);
  effects->slot[at] = number + 1;
}

static bool effects_grow(Effects *effects, uint32_t words) {
  while (effects->word_count + words > effects->word_capacity) {
    uint32_t *more = realloc(effects->word, (size_t)effects->word_capacity * 2 * sizeof *more);
    if (more == NULL) return false;
    effects->word = more;
    effects->word_capacity *= 2;
  }
  if (effects->count < effects->capacity) return true;
  struct Effect *more = realloc(effects->effect, (size_t)effects->capacity * 2 * sizeof *more);
  uint32_t *slots = calloc((size_t)effects->slot_count * 2, sizeof *slots);
  if (more != NULL) effects->effect = more;
  if (more == NULL || slots == NULL) {
    free(slots);
    return false;
  }
  free(effects->slot);
  effects->slot = slots;
  effects->slot_count *= 2;
  effects->capacity *= 2;
  for (uint32_t i = 0; i < effects->count; i++)
    place_effect(effects, i);
  return true;
}

/* Remembers what the call left in the cells that it reaches. */
static void keep_effect(Typing *t, Effects *effects, const uint32_t *key, uint32_t count,
                        uint64_t hash, const Held *held) {
  uint32_t words = count + 1 + t->reached_count * 3;
  if (!effects_grow(effects, words)) {
    t->types.out_of_memory = true;
    return;
  }
  struct Effect *effect = &effects->effect[effects->count];
  *effect = (struct Effect){hash, effects->word_count, count, effects->word_count + count,
                            t->reached_count};
  uint32_t *word = effects->word + effects->word_count;
  memcpy(word, key, count * sizeof *key);
  word += count;
  *word++ = t->made;
  for (uint32_t i = 0; i < t->reached_count; i++) {
    const Held *at = &held[t->reached[i].cell];
    *word++ = at->content;
    *word++ = (uint32_t)(at->layer - call_layer(t));
    *word++ = (uint32_t)(at->microbatch - t->walk.microbatch);
  }
  effects->word_count += words;
  place_effect(effects, effects->count++);
}

static void apply_effect(Typing *t, const Effects *effects, const struct Effect *effect,
                         Held *held) {
  const uint32_t *word = effects->word + effect->result;
  t->made = *word++;
  for (uint32_t i = 0; i < t->reached_count; i++, word += 3)
    held[t->reached[i].cell] =
        (Held){word[0], (int32_t)word[1] + call_layer(t), (int32_t)word[2] + t->walk.microbatch};
}

static void run_records(Typing *t) {
  for (uint32_t r = 0; r < t->walk.segment->records_count && !t->refused; r++) {
    t->record = r;
    t->at = walk_record(&t->walk, r);
    if (walk_runs(&t->walk, t->at)) type_record(t);
  }
  t->at = NULL;
}

static void look_at(Typing *t, Held *held) {
  int32_t layer = call_layer(t), microbatch = t->walk.microbatch;
  t->next_post = 0;
  for (uint32_t i = 0; i < t->reached_count; i++)
    if (!contents_spans(&t->contents, &t->types, held[t->reached[i].cell], layer, microbatch,
                        &t->reached[i].spans))
      t->types.out_of_memory = true;
  if (!t->types.out_of_memory) run_records(t);
  for (uint32_t i = 0; i < t->reached_count; i++) {
    Held *at = &held[t->reached[i].cell];
    *at = contents_keep(&t->contents, &t->types, &t->reached[i].spans);
    at->layer += layer;
    at->microbatch += microbatch;
  }
}

void run_call(Typing *t, Effects *effects, Held *held) {
  uint32_t key[KEY_MAX];
  if (!reach(t)) return;
  uint32_t count = make_key(t, held, key);
  uint64_t hash = hash_words(key, count);
  const struct Effect *effect = find_effect(effects, key, count, hash);
  if (effect != NULL) {
    apply_effect(t, effects, effect, held);
    return;
  }
  look_at(t, held);
  if (!t->refused) keep_effect(t, effects, key, count, hash, held);
}
