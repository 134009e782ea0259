/* order.c -- orders of axes: as text, and as placements. */
#include <stdlib.h>
#include <string.h>

#include "compiler/machine/place/place.h"

const Order order_usual = {{{ORDER_TP, 0, 0}, {ORDER_CP, 0, 0}, {ORDER_PP, 0, 0}, {ORDER_DP, 0, 0}},
                           4};

static const struct {
  const char *name;
  int32_t axes[2]; /* innermost first; the second may be missing */
} words[ORDER_WORDS] = {
    [ORDER_TP] = {"tp", {MESH_TP_GROUP, MESH_TP}},
    [ORDER_CP] = {"cp", {MESH_CP, -1}},
    [ORDER_PP] = {"pp", {MESH_PP, -1}},
    [ORDER_DP] = {"dp", {MESH_DP, MESH_REPLICATE}},
};

/* ---- as text */

const char *order_text(Arena *arena, const Order *order) {
  const char *text = "";
  for (int32_t i = 0; i < order->count; i++) {
    const OrderTerm *term = &order->term[i];
    text = arena_printf(arena, "%s%s%s", text, i > 0 ? " " : "", words[term->word].name);
    if (term->part > 0) text = arena_printf(arena, "%s*%lld", text, (long long)term->part);
    for (int32_t w = 0; w < ORDER_WORDS; w++)
      if ((term->slant >> w & 1u) != 0) text = arena_printf(arena, "%s-%s", text, words[w].name);
  }
  return text;
}

static bool word_parse(const char *text, size_t length, int32_t *word) {
  *word = 0;
  while (*word < ORDER_WORDS && (length < 2 || strncmp(words[*word].name, text, 2) != 0))
    ++*word;
  return *word < ORDER_WORDS;
}

/* "tp", "tp*2", or "tp-cp-dp": with the words that it is slanted by. */
static bool term_parse(const char *text, size_t length, OrderTerm *term) {
  enum { PART_DIGITS_MOST = 6 };
  int32_t word, by;
  if (!word_parse(text, length, &word)) return false;
  *term = (OrderTerm){.word = (OrderWord)word};
  if (length > 2 && text[2] == '*') {
    size_t digits = strspn(text + 3, "0123456789");
    term->part = digits > 0 ? strtoll(text + 3, NULL, 10) : 0;
    return digits + 3 == length && digits <= PART_DIGITS_MOST && term->part > 1;
  }
  for (text += 2, length -= 2; length > 0; text += 3, length -= 3) {
    if (text[0] != '-' || !word_parse(text + 1, length - 1, &by)) return false;
    if ((term->slant >> by & 1u) != 0) return false;
    term->slant |= 1u << by;
  }
  return true;
}

bool order_parse(const char *text, Order *order) {
  int32_t parts[ORDER_WORDS] = {0}, whole[ORDER_WORDS] = {0}, wholes = 0;
  uint32_t inside = 0;
  bool is_slanted = false;
  *order = (Order){.count = 0};
  for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
    size_t length = strcspn(text, " ");
    OrderTerm term;
    if (order->count == TERMS_MOST || !term_parse(text, length, &term)) return false;
    if (whole[term.word] || (term.part > 0 && parts[term.word]++)) return false;
    if (term.part == 0) whole[term.word] = 1, wholes++;
    inside &= ~(1u << term.word); /* an axis is not slanted by itself */
    if ((term.slant & ~inside) != 0 || (term.slant != 0 && is_slanted)) return false;
    is_slanted |= term.slant != 0;
    inside |= 1u << term.word;
    order->term[order->count++] = term;
    text += length;
  }
  return wholes == ORDER_WORDS;
}

/* ---- as a placement */

static int64_t weight_of(const Placement *at, int32_t axis) {
  int64_t weight = 1;
  for (int32_t i = 0; i < at->digit_count; i++)
    if (at->digit[i].axis == axis) weight *= at->digit[i].size;
  return weight;
}

/* Two adjacent parts of an axis are one. */
static void add_digit(Placement *at, int32_t axis, int64_t size) {
  Digit *last = at->digit_count > 0 ? &at->digit[at->digit_count - 1] : NULL;
  if (size == 1) return;
  if (last && last->axis == axis) {
    last->size *= size;
    return;
  }
  at->digit[at->digit_count] = (Digit){.axis = axis,
                                       .size = size,
                                       .stride = last ? last->stride * last->size : 1,
                                       .weight = weight_of(at, axis)};
  at->digit_count++;
}

/* The word's last digit is slanted by the first digits of others; digits of size 1 have no effect.
 */
static void add_slant(Placement *at, const OrderTerm *term) {
  int32_t last = at->digit_count - 1;
  const int32_t *axes = words[term->word].axes;
  if (last < 0 || (at->digit[last].axis != axes[0] && at->digit[last].axis != axes[1])) return;
  for (int32_t word = 0; word < ORDER_WORDS; word++) {
    int32_t first = 0;
    if ((term->slant >> word & 1u) == 0) continue;
    while (first < last && at->digit[first].axis != words[word].axes[0] &&
           at->digit[first].axis != words[word].axes[1])
      first++;
    if (first < last) at->slant |= 1u << first;
  }
  at->slanted = last;
}

/* False: the term's part does not divide what is left of its axis. */
static bool add_term(Placement *at, const OrderTerm *term) {
  int64_t wanted = term->part;
  for (int32_t i = 0; i < 2; i++) {
    int32_t axis = words[term->word].axes[i];
    if (axis < 0 || (term->part > 0 && wanted == 1)) continue;
    int64_t left = at->size[axis] / weight_of(at, axis);
    int64_t taken = term->part == 0 || wanted > left ? left : wanted;
    if (left % taken != 0 || (term->part > 0 && wanted % taken != 0)) return false;
    add_digit(at, axis, taken);
    wanted /= taken;
  }
  if (term->slant != 0) add_slant(at, term);
  return term->part == 0 || wanted == 1;
}

Placement *place_in_order(const Fabric *fabric, const JobMesh *mesh, const Order *order) {
  Placement *at = ARENA_NEW(fabric->arena, Placement);
  at->order = *order;
  memcpy(at->size, mesh->size, sizeof at->size);
  for (int32_t i = 0; i < order->count; i++)
    if (!add_term(at, &order->term[i])) return NULL;
  at->classes = ARENA_ARRAY(fabric->arena, struct NodeClasses *, MESH_BIT(MESH_AXES));
  at->seats = ARENA_ARRAY(fabric->arena, int32_t *, fabric->kind_count);
  for (int32_t k = 0; k < fabric->kind_count; k++) {
    at->seats[k] = ARENA_ARRAY(fabric->arena, int32_t, fabric->kinds[k].seat_count);
    for (int32_t p = 0; p < fabric->kinds[k].seat_count; p++)
      at->seats[k][p] = p;
  }
  return at;
}

int64_t order_word_size(const JobMesh *mesh, OrderWord word) {
  int64_t size = 1;
  for (int32_t i = 0; i < 2; i++)
    if (words[word].axes[i] >= 0) size *= mesh->size[words[word].axes[i]];
  return size;
}
