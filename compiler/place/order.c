/* order.c -- orders of axes: their text, and the placement that each stands for. */
#include <stdlib.h>
#include <string.h>

#include "compiler/place/place.h"

const Order order_usual = {{{ORDER_TP, 0}, {ORDER_CP, 0}, {ORDER_PP, 0}, {ORDER_DP, 0}}, 4};

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
  }
  return text;
}

/* "tp", or "tp*2". */
static bool term_parse(const char *text, size_t length, OrderTerm *term) {
  enum { PART_DIGITS_MOST = 6 };
  int32_t word = 0;
  while (word < ORDER_WORDS && (length < 2 || strncmp(words[word].name, text, 2) != 0))
    word++;
  *term = (OrderTerm){(OrderWord)word, 0};
  if (word == ORDER_WORDS || length == 2) return word < ORDER_WORDS;
  size_t digits = strspn(text + 3, "0123456789");
  if (text[2] != '*' || digits + 3 != length || digits > PART_DIGITS_MOST) return false;
  term->part = strtoll(text + 3, NULL, 10);
  return term->part > 1;
}

bool order_parse(const char *text, Order *order) {
  int32_t parts[ORDER_WORDS] = {0}, whole[ORDER_WORDS] = {0}, wholes = 0;
  *order = (Order){.count = 0};
  for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
    size_t length = strcspn(text, " ");
    OrderTerm term;
    if (order->count == TERMS_MOST || !term_parse(text, length, &term)) return false;
    if (whole[term.word] || (term.part > 0 && parts[term.word]++)) return false;
    if (term.part == 0) whole[term.word] = 1, wholes++;
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

/* Two parts of an axis that follow each other are one. */
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

/* False: the part does not divide what is left of the word. */
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
  return term->part == 0 || wanted == 1;
}

Placement *place_in_order(const Fabric *fabric, const Mesh *mesh, const Order *order) {
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

int64_t order_word_size(const Mesh *mesh, OrderWord word) {
  int64_t size = 1;
  for (int32_t i = 0; i < 2; i++)
    if (words[word].axes[i] >= 0) size *= mesh->size[words[word].axes[i]];
  return size;
}
