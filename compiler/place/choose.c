/* choose.c -- the order of axes and the seats of neighbours that communicate in the least time.
 *
 * All orders of the four words are looked at, at most 24. Where the links of a node are not all
 * alike, seats are swapped two by two as long as that helps, for the best orders. */
#include <string.h>

#include "compiler/place/place.h"

const Order order_usual = {{ORDER_TP, ORDER_CP, ORDER_PP, ORDER_DP}};

static const struct {
  const char *name;
  int32_t axes[2]; /* innermost first; the second may be missing */
} words[ORDER_WORDS] = {
    [ORDER_TP] = {"tp", {MESH_TP_GROUP, MESH_TP}},
    [ORDER_CP] = {"cp", {MESH_CP, -1}},
    [ORDER_PP] = {"pp", {MESH_PP, -1}},
    [ORDER_DP] = {"dp", {MESH_DP, MESH_REPLICATE}},
};

const char *order_text(Arena *arena, const Order *order) {
  const char *text = "";
  for (int32_t i = 0; i < ORDER_WORDS; i++)
    text = arena_printf(arena, "%s%s%s", text, i > 0 ? " " : "", words[order->word[i]].name);
  return text;
}

bool order_parse(const char *text, Order *order) {
  bool is_used[ORDER_WORDS] = {false};
  int32_t count = 0;
  for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
    size_t length = strcspn(text, " ");
    int32_t word = 0;
    while (word < ORDER_WORDS && (length != 2 || strncmp(words[word].name, text, 2) != 0))
      word++;
    if (word == ORDER_WORDS || is_used[word]) return false;
    is_used[word] = true;
    order->word[count++] = (OrderWord)word;
    text += length;
  }
  return count == ORDER_WORDS;
}

/* ---- a placement */

Placement *place_in_order(const Fabric *fabric, const Mesh *mesh, const Order *order) {
  Placement *at = ARENA_NEW(fabric->arena, Placement);
  int64_t stride = 1;
  at->order = *order;
  for (int32_t i = 0; i < ORDER_WORDS; i++)
    for (int32_t j = 0; j < 2; j++) {
      int32_t axis = words[order->word[i]].axes[j];
      if (axis < 0) continue;
      at->size[axis] = mesh->size[axis];
      at->stride[axis] = stride;
      stride *= mesh->size[axis];
    }
  int64_t asked = MESH_BIT(MESH_AXES) * (mesh->size[MESH_PP] + 1);
  at->farthest = ARENA_ARRAY(fabric->arena, int32_t, asked);
  for (int64_t i = 0; i < asked; i++)
    at->farthest[i] = -1;
  at->seats = ARENA_ARRAY(fabric->arena, int32_t *, fabric->kind_count);
  for (int32_t k = 0; k < fabric->kind_count; k++) {
    at->seats[k] = ARENA_ARRAY(fabric->arena, int32_t, fabric->kinds[k].seat_count);
    for (int32_t p = 0; p < fabric->kinds[k].seat_count; p++)
      at->seats[k][p] = p;
  }
  return at;
}

typedef struct Price {
  bool leaves_domain;     /* tp does, and should not */
  double seconds, mean_s; /* of the slowest communicators, and of the mean ones */
} Price;

static double over_rate(double bytes, double rate) {
  return rate > 0 ? bytes / rate : 0;
}

static void add_demand(Price *price, const Demand *d, const Reach *reach) {
  double waiting = (d->ring_messages + d->pair_messages) * (double)reach->latency_ns * 1e-9;
  price->seconds += waiting + over_rate(d->ring_bytes, reach->ring_bytes_per_s) +
                    over_rate(d->pair_bytes, reach->pair_bytes_per_s);
  price->mean_s +=
      d->ring_bytes * reach->ring_mean_s_per_byte + d->pair_bytes * reach->pair_mean_s_per_byte;
}

/* Reaches along axes, of the stage that was asked last. */
typedef struct Known {
  int32_t stage[MESH_BIT(MESH_AXES)]; /* and 1; 0: none */
  Reach reach[MESH_BIT(MESH_AXES)];
} Known;

static const Reach *known_reach(Known *known, const Fabric *fabric, const Placement *at,
                                uint32_t axes, int32_t stage) {
  stage = place_alike_stage(fabric, at, axes, stage);
  if (known->stage[axes] != stage + 1) known->reach[axes] = place_reach(fabric, at, axes, stage);
  known->stage[axes] = stage + 1;
  return &known->reach[axes];
}

/* Of the stage for which it is the largest. */
static Price price_of(const Fabric *fabric, const Placement *at, const Demands *demands) {
  Price largest = {0};
  Known known = {0};
  for (int32_t stage = 0; stage < demands->stages; stage++) {
    Price price = {0};
    for (int32_t i = 0; i < demands->count; i++) {
      const Demand *demand = &demands->at[i];
      if (demand->stage != stage) continue;
      add_demand(&price, demand, known_reach(&known, fabric, at, demand->axes, stage));
    }
    if (price.seconds > largest.seconds) largest = price;
  }
  return largest;
}

double place_seconds(const Fabric *fabric, const Placement *at, const Demands *demands) {
  return price_of(fabric, at, demands).seconds;
}

/* ---- the search */

typedef struct Tried {
  Placement *at;
  Price price;
} Tried;

typedef struct Search {
  const Fabric *fabric;
  const Mesh *mesh;
  const Demands *demands;
  Wish wish;
  Tried tried[ORDERS_MOST];
  int32_t count;
  int64_t *priced;
} Search;

/* What is less by so little is not worth another order than people expect. */
static bool is_better(Price price, Price than) {
  if (price.leaves_domain != than.leaves_domain) return than.leaves_domain;
  return price.seconds < than.seconds * (1 - 1e-3);
}

static Price price_in(const Search *s, const Placement *at) {
  Price price = price_of(s->fabric, at, s->demands);
  uint32_t tp = MESH_BIT(MESH_TP) | MESH_BIT(MESH_TP_GROUP);
  ++*s->priced;
  price.leaves_domain = s->wish.keeps_tp && !place_is_in_domain(s->fabric, at, tp);
  return price;
}

static bool is_same_placement(const Placement *a, const Placement *b) {
  for (int32_t axis = 0; axis < MESH_AXES; axis++)
    if (a->size[axis] > 1 && a->stride[axis] != b->stride[axis]) return false;
  return true;
}

static void try_order(Search *s, const Order *order) {
  Placement *at = place_in_order(s->fabric, s->mesh, order);
  for (int32_t i = 0; i < s->count; i++)
    if (is_same_placement(s->tried[i].at, at)) return;
  s->tried[s->count++] = (Tried){at, price_in(s, at)};
}

/* All orders that begin with the first `fixed` words. */
static void try_orders(Search *s, Order *order, int32_t fixed) {
  if (fixed == ORDER_WORDS) try_order(s, order);
  for (int32_t i = fixed; i < ORDER_WORDS; i++) {
    OrderWord kept = order->word[fixed];
    order->word[fixed] = order->word[i], order->word[i] = kept;
    try_orders(s, order, fixed + 1);
    kept = order->word[fixed];
    order->word[fixed] = order->word[i], order->word[i] = kept;
  }
}

static void swap_seats(int32_t *seats, int32_t a, int32_t b) {
  int32_t kept = seats[a];
  seats[a] = seats[b];
  seats[b] = kept;
}

/* The slowest decides; of equals the mean, so that a swap that helps one of several slow
 * communicators counts. */
static bool is_lower(Price price, Price than) {
  if (price.leaves_domain != than.leaves_domain) return than.leaves_domain;
  if (price.seconds < than.seconds * (1 - 1e-9)) return true;
  return price.seconds <= than.seconds * (1 + 1e-9) && price.mean_s < than.mean_s * (1 - 1e-9);
}

/* A search ends after so many placements, whatever the machine: the best so far stays. */
enum { PRICED_MOST = 20000 };

/* Keeps every swap of two seats that helps; false: none does. */
static bool swap_once(const Search *s, const Placement *at, int32_t kind, Price *price) {
  int32_t *seats = at->seats[kind], count = s->fabric->kinds[kind].seat_count;
  bool is_improved = false;
  for (int32_t a = 0; a < count; a++)
    for (int32_t b = 0; b < a && *s->priced < PRICED_MOST; b++) {
      swap_seats(seats, a, b);
      Price now = price_in(s, at);
      bool helps = is_lower(now, *price);
      if (helps)
        *price = now;
      else
        swap_seats(seats, a, b);
      is_improved |= helps;
    }
  return is_improved;
}

/* From several beginnings, all of them shuffled the same way in every run, until some in a row
 * bring nothing; the best stays. */
static void improve_seats(const Search *s, Tried *tried, int32_t kind) {
  enum { BEGINNINGS = 12, ROUNDS_MOST = 8, IDLE_MOST = 5 };
  int32_t *seats = tried->at->seats[kind], count = s->fabric->kinds[kind].seat_count;
  size_t size_bytes = sizeof *seats * (size_t)count;
  int32_t *best = ARENA_ARRAY(s->fabric->arena, int32_t, count);
  memcpy(best, seats, size_bytes);
  uint32_t state = 1;
  Price least = tried->price;
  for (int32_t beginning = 0, idle = 0; beginning < BEGINNINGS && idle < IDLE_MOST; beginning++) {
    Price price = price_in(s, tried->at);
    for (int32_t round = 0; round < ROUNDS_MOST; round++)
      if (!swap_once(s, tried->at, kind, &price)) break;
    idle = is_lower(price, least) ? 0 : idle + 1;
    if (idle == 0) least = price, memcpy(best, seats, size_bytes);
    for (int32_t i = count - 1; i > 0; i--) {
      state = state * 1664525 + 1013904223;
      swap_seats(seats, i, (int32_t)((state >> 8) % (uint32_t)(i + 1)));
    }
  }
  memcpy(seats, best, size_bytes);
  tried->price = least;
}

/* Seats matter where the pairs of a node differ. */
static bool are_pairs_alike(const NodeKind *kind) {
  for (int32_t i = 0; kind->pairs && i < kind->seat_count * kind->seat_count; i++) {
    bool is_self = i % (kind->seat_count + 1) == 0;
    if (!is_self && kind->pairs[i].bytes_per_s != kind->pairs[1].bytes_per_s) return false;
  }
  return true;
}

static void improve(const Search *s, Tried *tried) {
  enum { SEATS_SWAPPED_MOST = 32 };
  for (int32_t kind = 0; kind < s->fabric->kind_count; kind++) {
    const NodeKind *at = &s->fabric->kinds[kind];
    if (!are_pairs_alike(at) && at->seat_count <= SEATS_SWAPPED_MOST) improve_seats(s, tried, kind);
  }
}

static Tried *best_of(Search *s) {
  Tried *best = &s->tried[0];
  for (int32_t i = 1; i < s->count; i++)
    if (is_better(s->tried[i].price, best->price)) best = &s->tried[i];
  return best;
}

Choice place_choose(const Fabric *fabric, const Mesh *mesh, const Demands *demands, Wish wish) {
  Choice choice = {0};
  Search s = {.fabric = fabric, .mesh = mesh, .demands = demands, .wish = wish};
  s.priced = &choice.priced;
  Order order = order_usual;
  try_orders(&s, &order, 0); /* the usual one first: it wins against equals */
  choice.usual_s = s.tried[0].price.seconds;
  choice.orders = s.count;
  for (int32_t i = 0; i < s.count; i++)
    improve(&s, &s.tried[i]);
  for (int32_t i = 0; i < s.count; i++)
    choice.order[i] = (Alternative){s.tried[i].at->order, s.tried[i].price.seconds,
                                    s.tried[i].price.leaves_domain};
  const Tried *best = best_of(&s), *taken = best;
  Placement *asked = wish.order ? place_in_order(fabric, mesh, wish.order) : NULL;
  for (int32_t i = 0; asked && i < s.count; i++)
    if (is_same_placement(s.tried[i].at, asked)) taken = &s.tried[i];
  choice.taken = taken->at;
  choice.taken_order = (int32_t)(taken - s.tried);
  choice.taken_s = taken->price.seconds;
  choice.best = best->at->order;
  choice.best_s = best->price.seconds;
  if (wish.order) choice.taken->order = *wish.order;
  return choice;
}
