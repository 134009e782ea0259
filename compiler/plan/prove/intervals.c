#include "compiler/plan/prove/intervals.h"

#include "compiler/plan/prove/pool.h"

typedef struct IntervalNode {
  Interval interval;
  uint32_t left, right, priority; /* left: also the next that is free */
} IntervalNode;

const Interval *intervals_find(const Intervals *set, uint64_t offset) {
  const Interval *found = NULL;
  for (uint32_t at = set->root; at != 0;) {
    const IntervalNode *node = &set->node[at];
    if (node->interval.end > offset) found = &node->interval;
    at = found == &node->interval ? node->left : node->right;
  }
  return found;
}

/* Splits the tree: intervals that begin below `first` go left, the others right. */
static void split(Intervals *set, uint32_t at, uint64_t first, uint32_t *left, uint32_t *right) {
  while (at != 0) {
    IntervalNode *node = &set->node[at];
    if (node->interval.first < first) {
      *left = at;
      left = &node->right;
      at = node->right;
    } else {
      *right = at;
      right = &node->left;
      at = node->left;
    }
  }
  *left = *right = 0;
}

static uint32_t merge(Intervals *set, uint32_t left, uint32_t right) {
  uint32_t root = 0, *hole = &root;
  while (left != 0 && right != 0) {
    IntervalNode *a = &set->node[left], *b = &set->node[right];
    bool left_is_above = a->priority > b->priority;
    *hole = left_is_above ? left : right;
    hole = left_is_above ? &a->right : &b->left;
    if (left_is_above)
      left = a->right;
    else
      right = b->left;
  }
  *hole = left != 0 ? left : right;
  return root;
}

static uint32_t random_of(uint32_t number) { /* a bijection, so that no two priorities are equal */
  number = (number ^ number >> 16) * 0x7feb352du;
  number = (number ^ number >> 15) * 0x846ca68bu;
  return number ^ number >> 16;
}

static void insert(Arena *arena, Intervals *set, Interval interval) {
  uint32_t at = set->free, left = 0, right = 0;
  set->node = pool_room(arena, set->node, &set->capacity, set->count + 2u, sizeof *set->node);
  if (at != 0)
    set->free = set->node[at].left;
  else
    at = ++set->count;
  set->node[at] = (IntervalNode){.interval = interval, .priority = random_of(at)};
  split(set, set->root, interval.first, &left, &right);
  set->root = merge(set, merge(set, left, at), right);
}

/* Takes out the interval that begins at `first`. */
static void take_out(Intervals *set, uint64_t first) {
  uint32_t left = 0, middle = 0, right = 0;
  split(set, set->root, first, &left, &right);
  split(set, right, first + 1, &middle, &right);
  if (middle != 0) {
    set->node[middle].left = set->free;
    set->free = middle;
  }
  set->root = merge(set, left, right);
}

void intervals_put(Arena *arena, Intervals *set, Interval interval) {
  const Interval *met = NULL;
  if (interval.first >= interval.end) return;
  while ((met = intervals_find(set, interval.first)) != NULL && met->first < interval.end) {
    Interval old = *met, before = old, after = old;
    before.end = interval.first, after.first = interval.end;
    take_out(set, old.first);
    if (before.first < before.end) insert(arena, set, before);
    if (after.first < after.end) insert(arena, set, after);
  }
  insert(arena, set, interval);
}

void intervals_join(Arena *arena, Intervals *set, uint64_t first, uint64_t end) {
  const Interval *met = NULL;
  for (uint64_t at = first; (met = intervals_find(set, at)) != NULL && met->first < end;
       at = met->end) {
    if (met->first <= first && end <= met->end) return;
    if (met->first < first) first = met->first;
    if (met->end > end) end = met->end;
  }
  intervals_put(arena, set, (Interval){.first = first, .end = end});
}
