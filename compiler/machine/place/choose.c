/* choose.c -- the order of axes and the seats of neighbours that communicate in the least time.
 *
 * All orders of the four words are looked at, at most 24; then those in which nodes hold parts of
 * several axes, the best of each. Where the links of a node are not all alike, seats are swapped
 * two by two as long as that helps, for every order that is left. Where a path of a node is slower
 * than the network, all of these are slanted in every way, and the best ones go through the same.
 */
#include <assert.h>
#include <string.h>

#include "compiler/base/ring.h"
#include "compiler/machine/place/place.h"
#include "compiler/machine/place/rate.h"

typedef struct Price {
  bool leaves_domain;     /* tp does, and should not */
  double seconds, mean_s; /* of the slowest communicators, and of the mean ones */
} Price;

static double over_rate(double bytes, double rate) {
  return rate > 0 ? bytes / rate : 0;
}

static void add_demand(Price *price, const Demand *d, const Reach *reach) {
  const RingHops hops = {.members = d->members,
                         .node_members = reach->node_members,
                         .inside_ns = (double)reach->inside_latency_ns,
                         .between_ns = (double)reach->latency_ns};
  double waiting =
      (d->sum_passes * ring_pass_ns(&hops, true) + d->ring_passes * ring_pass_ns(&hops, false) +
       d->pair_messages * (double)reach->latency_ns) *
      1e-9;
  price->seconds += waiting + over_rate(d->ring_bytes, reach->ring_bytes_per_s) +
                    over_rate(d->pair_bytes, reach->pair_bytes_per_s);
  price->mean_s +=
      d->ring_bytes * reach->ring_mean_s_per_byte + d->pair_bytes * reach->pair_mean_s_per_byte;
}

/* Reaches along axes, of the stage that was asked last. */
typedef struct KnownSeat {
  int32_t stage[MESH_BIT(MESH_AXES)]; /* and 1; 0: none */
  Reach reach[MESH_BIT(MESH_AXES)];
} KnownSeat;

static const Reach *known_reach(KnownSeat *known, const Fabric *fabric, const Placement *at,
                                uint32_t axes, int32_t stage) {
  stage = place_alike_stage(fabric, at, axes, stage);
  if (known->stage[axes] != stage + 1) known->reach[axes] = place_reach(fabric, at, axes, stage);
  known->stage[axes] = stage + 1;
  return &known->reach[axes];
}

/* The price of the most expensive stage. */
static Price price_of(const Fabric *fabric, const Placement *at, const Demands *demands) {
  Price largest = {0};
  KnownSeat known;
  memset(known.stage, 0, sizeof known.stage);
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

/* ---- the search */

typedef struct Tried {
  Placement *at;
  Price price;
} Tried;

typedef struct Search {
  const Fabric *fabric;
  const JobMesh *mesh;
  const Demands *demands;
  Wish wish;
  Tried tried[ORDERS_MOST];
  int32_t count;
  int64_t *priced;
} Search;

/* Gains below 0.1 % do not justify an unusual order. */
static bool is_better(Price price, Price than) {
  if (price.leaves_domain != than.leaves_domain) return than.leaves_domain;
  return price.seconds < than.seconds * (1 - 1e-3);
}

/* In a domain of fast links; without any, on a node. */
static bool is_kept_near(const Fabric *fabric, const Placement *at, uint32_t axes) {
  if (fabric->is_fast) return place_is_in_domain(fabric, at, axes);
  return place_reach(fabric, at, axes, -1).distance == 0;
}

static Price price_in(const Search *s, const Placement *at) {
  Price price = price_of(s->fabric, at, s->demands);
  uint32_t tp = MESH_BIT(MESH_TP) | MESH_BIT(MESH_TP_GROUP);
  ++*s->priced;
  price.leaves_domain = s->wish.keeps_tp && !is_kept_near(s->fabric, at, tp);
  return price;
}

static bool is_same_placement(const Placement *a, const Placement *b) {
  bool is_same = a->digit_count == b->digit_count && a->slant == b->slant;
  if (is_same && a->slant != 0) is_same = a->slanted == b->slanted;
  for (int32_t i = 0; is_same && i < a->digit_count; i++)
    is_same = a->digit[i].axis == b->digit[i].axis && a->digit[i].size == b->digit[i].size;
  return is_same;
}

static bool is_tried(const Search *s, const Placement *at) {
  for (int32_t i = 0; i < s->count; i++)
    if (is_same_placement(s->tried[i].at, at)) return true;
  return false;
}

static void try_order(Search *s, const Order *order) {
  Placement *at = place_in_order(s->fabric, s->mesh, order);
  if (s->count < ORDERS_STRAIGHT && !is_tried(s, at))
    s->tried[s->count++] = (Tried){at, price_in(s, at)};
}

/* All orders that have the first `fixed` terms of this one. */
static void try_orders(Search *s, Order *order, int32_t fixed) {
  if (fixed == order->count) try_order(s, order);
  for (int32_t i = fixed; i < order->count; i++) {
    OrderTerm kept = order->term[fixed];
    order->term[fixed] = order->term[i], order->term[i] = kept;
    try_orders(s, order, fixed + 1);
    kept = order->term[fixed];
    order->term[fixed] = order->term[i], order->term[i] = kept;
  }
}

/* ---- axes in parts: what of each a node holds */

typedef struct Fill {
  Order order;
  int32_t inside; /* terms of a node */
  Price price;
} Fill;

enum { FILLS_KEPT = 4 };

/* The best ones, best first. */
typedef struct Fills {
  Fill at[FILLS_KEPT];
  int32_t count;
} Fills;

static void keep_fill(Fills *fills, const Fill *fill) {
  int32_t i = fills->count < FILLS_KEPT ? fills->count++ : FILLS_KEPT;
  for (; i > 0 && is_better(fill->price, fills->at[i - 1].price); i--)
    if (i < FILLS_KEPT) fills->at[i] = fills->at[i - 1];
  if (i < FILLS_KEPT) fills->at[i] = *fill;
}

/* Axes that are divided into parts first, then the rest of each axis, in the usual order. */
static Order order_of_parts(const JobMesh *mesh, const int64_t part[ORDER_WORDS], int32_t *inside) {
  Order order = {.count = 0};
  bool is_whole[ORDER_WORDS];
  for (int32_t w = 0; w < ORDER_WORDS; w++) {
    is_whole[w] = part[w] > 1 && part[w] == order_word_size(mesh, (OrderWord)w);
    if (part[w] > 1)
      order.term[order.count++] = (OrderTerm){(OrderWord)w, is_whole[w] ? 0 : part[w], 0};
  }
  *inside = order.count;
  for (int32_t w = 0; w < ORDER_WORDS; w++)
    if (!is_whole[w]) order.term[order.count++] = (OrderTerm){(OrderWord)w, 0, 0};
  return order;
}

/* The value of a fill is its value with the best next word. */
static void price_fill(const Search *s, const int64_t part[ORDER_WORDS], Fills *fills) {
  Fill fill = {0};
  fill.order = order_of_parts(s->mesh, part, &fill.inside);
  for (int32_t i = fill.inside; i < fill.order.count; i++) {
    Order order = fill.order;
    order.term[fill.inside] = fill.order.term[i], order.term[i] = fill.order.term[fill.inside];
    const Placement *at = place_in_order(s->fabric, s->mesh, &order);
    if (!at) return;
    Price price = price_in(s, at);
    if (i == fill.inside || is_better(price, fill.price)) fill.price = price;
  }
  keep_fill(fills, &fill);
}

/* All ways to give the words from this one on parts that fill `room` slots. */
static void try_fills(const Search *s, int64_t part[ORDER_WORDS], int32_t word, int64_t room,
                      Fills *fills) {
  if (word == ORDER_WORDS) {
    if (room == 1) price_fill(s, part, fills);
    return;
  }
  int64_t size = order_word_size(s->mesh, (OrderWord)word);
  for (part[word] = 1; part[word] <= room && part[word] <= size; part[word]++)
    if (room % part[word] == 0 && size % part[word] == 0)
      try_fills(s, part, word + 1, room / part[word], fills);
}

/* The number of seats that nodes of all types have. */
static int64_t common_seats(const Fabric *fabric) {
  int64_t common = 0;
  for (int32_t k = 0; k < fabric->kind_count; k++) {
    int64_t other = fabric->kinds[k].seat_count;
    while (other > 0) {
      int64_t rest = common % other;
      common = other;
      other = rest;
    }
  }
  return common;
}

static void try_parts(Search *s) {
  Fills fills = {0};
  int64_t part[ORDER_WORDS];
  try_fills(s, part, 0, common_seats(s->fabric), &fills);
  for (int32_t i = 0; i < fills.count; i++) {
    try_orders(s, &fills.at[i].order, fills.at[i].inside);
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

/* A search ends after this many placements on any machine, with the best one so far. */
enum { PRICED_MOST = 20000, SEATS_SWAPPED_MOST = 32 };

/* Swaps two seats, reverses all from one to the other, or puts the first after the other. */
typedef enum Move { MOVE_SWAP, MOVE_TURN, MOVE_SHIFT, MOVES } Move;

static void move_seats(int32_t *seats, int32_t from, int32_t to, Move move) {
  if (move == MOVE_SHIFT) {
    for (; from < to; from++)
      swap_seats(seats, from, from + 1);
    return;
  }
  swap_seats(seats, from, to);
  for (from++, to--; move == MOVE_TURN && from < to; from++, to--)
    swap_seats(seats, from, to);
}

static bool keep_move(const Search *s, const Placement *at, int32_t kind, int32_t from, int32_t to,
                      Move move, Price *price) {
  int32_t *seats = at->seats[kind], before[SEATS_SWAPPED_MOST];
  size_t size_bytes = sizeof *seats * (size_t)s->fabric->kinds[kind].seat_count;
  if (*s->priced >= PRICED_MOST) return false;
  memcpy(before, seats, size_bytes);
  move_seats(seats, from, to, move);
  Price now = price_in(s, at);
  bool helps = is_lower(now, *price);
  if (helps)
    *price = now;
  else
    memcpy(seats, before, size_bytes);
  return helps;
}

/* Keeps every move that helps; false: none does. A long chain of neighbours, alone on a node, is
 * not mended by swaps. */
static bool move_once(const Search *s, const Placement *at, int32_t kind, Price *price) {
  int32_t count = s->fabric->kinds[kind].seat_count;
  Move end = s->fabric->node_count == 1 ? MOVES : MOVE_TURN;
  bool is_improved = false;
  for (int32_t to = 0; to < count; to++)
    for (int32_t from = 0; from < to; from++)
      for (Move move = MOVE_SWAP; move < end; move++)
        is_improved |= keep_move(s, at, kind, from, to, move, price);
  return is_improved;
}

/* From several beginnings, all of them shuffled the same way in every run, until some in a row
 * bring nothing; the best stays. Seats that were found for such a node already are the only one. */
static void improve_seats(const Search *s, Tried *tried, int32_t kind, bool is_found) {
  enum { BEGINNINGS = 12, ROUNDS_MOST = 8, IDLE_MOST = 5, ALONE = 5 };
  int32_t *seats = tried->at->seats[kind], count = s->fabric->kinds[kind].seat_count;
  size_t size_bytes = sizeof *seats * (size_t)count;
  int32_t *best = ARENA_ARRAY(s->fabric->arena, int32_t, count);
  memcpy(best, seats, size_bytes);
  uint32_t state = 1;
  Price least = tried->price;
  int32_t more = s->fabric->node_count == 1 ? ALONE : 1; /* seats are all there is to choose */
  int32_t beginnings = is_found ? 1 : BEGINNINGS * more;
  for (int32_t i = 0, idle = 0; i < beginnings && idle < IDLE_MOST * more; i++) {
    Price price = price_in(s, tried->at);
    for (int32_t round = 0; round < ROUNDS_MOST; round++)
      if (!move_once(s, tried->at, kind, &price)) break;
    idle = is_lower(price, least) ? 0 : idle + 1;
    if (idle == 0) least = price, memcpy(best, seats, size_bytes);
    for (int32_t p = count - 1; p > 0; p--) {
      state = state * 1664525 + 1013904223;
      swap_seats(seats, p, (int32_t)((state >> 8) % (uint32_t)(p + 1)));
    }
  }
  memcpy(seats, best, size_bytes);
  tried->price = least;
}

/* All ranks in one ring on a lone node: a chain of moves that each help may end before the best
 * one, and so few seats are soon all tried. */
static bool is_small_ring(const Search *s, const Placement *at) {
  enum { RING_SEATS_MOST = 8 };
  return s->fabric->node_count == 1 && at->digit_count == 1 &&
         at->digit[0].size == s->fabric->kinds[0].seat_count &&
         s->fabric->kinds[0].seat_count <= RING_SEATS_MOST;
}

/* The seats from this one on in every order. Where a ring begins does not matter, so the first one
 * stays. */
static void try_rings(const Search *s, Tried *tried, int32_t from, int32_t *best) {
  int32_t *seats = tried->at->seats[0], count = s->fabric->kinds[0].seat_count;
  if (from == count) {
    Price price = price_in(s, tried->at);
    if (!is_lower(price, tried->price)) return;
    tried->price = price;
    memcpy(best, seats, sizeof *seats * (size_t)count);
  }
  for (int32_t i = from; i < count; i++) {
    swap_seats(seats, from, i);
    try_rings(s, tried, from + 1, best);
    swap_seats(seats, from, i);
  }
}

/* Seats matter where the pairs of a node differ. */
static bool are_pairs_alike(const NodeKind *kind) {
  for (int32_t i = 0; kind->pairs && i < kind->seat_count * kind->seat_count; i++) {
    bool is_self = i % (kind->seat_count + 1) == 0;
    if (!is_self && kind->pairs[i].bytes_per_s != kind->pairs[1].bytes_per_s) return false;
  }
  return true;
}

/* Do nodes of this many seats hold the same of every axis? */
static bool is_alike_inside(const Placement *a, const Placement *b, int64_t seats) {
  bool is_alike = a->slant == 0 && b->slant == 0;
  for (int32_t i = 0; is_alike; i++) {
    bool is_a = i < a->digit_count && a->digit[i].stride < seats,
         is_b = i < b->digit_count && b->digit[i].stride < seats;
    if (!is_a && !is_b) break;
    is_alike = is_a && is_b && a->digit[i].axis == b->digit[i].axis;
    int64_t left = is_alike ? seats / a->digit[i].stride : 0;
    is_alike = is_alike && (a->digit[i].size == b->digit[i].size ||
                            (a->digit[i].size >= left && b->digit[i].size >= left));
  }
  return is_alike;
}

/* The seats of an order before it whose nodes hold the same, unless they are worse here. */
static bool take_found(const Search *s, Tried *tried, int32_t kind) {
  int32_t seats = s->fabric->kinds[kind].seat_count, before = 0;
  while (before < s->count && &s->tried[before] != tried &&
         !is_alike_inside(s->tried[before].at, tried->at, seats))
    before++;
  if (s->fabric->node_count == 1 || before == s->count || &s->tried[before] == tried) return false;
  int32_t *own = tried->at->seats[kind];
  tried->at->seats[kind] = s->tried[before].at->seats[kind];
  Price price = price_in(s, tried->at);
  tried->at->seats[kind] = own;
  if (is_lower(tried->price, price)) return false;
  memcpy(own, s->tried[before].at->seats[kind], sizeof *own * (size_t)seats);
  tried->price = price;
  return true;
}

static void improve(const Search *s, Tried *tried) {
  for (int32_t kind = 0; kind < s->fabric->kind_count; kind++) {
    const NodeKind *at = &s->fabric->kinds[kind];
    if (are_pairs_alike(at) || at->seat_count > SEATS_SWAPPED_MOST) continue;
    if (is_small_ring(s, tried->at)) {
      int32_t best[SEATS_SWAPPED_MOST];
      memcpy(best, tried->at->seats[kind], sizeof *best * (size_t)at->seat_count);
      try_rings(s, tried, 1, best);
      memcpy(tried->at->seats[kind], best, sizeof *best * (size_t)at->seat_count);
      continue;
    }
    improve_seats(s, tried, kind, take_found(s, tried, kind));
  }
}

/* ---- axes on a slant */

/* Is a path of the node slower than what a rank has of the network, or of links between nodes? */
static bool is_slow_inside(const Fabric *fabric, const NodeKind *kind) {
  double share = kind->network_bytes_per_s, slowest = kind->intra_bytes_per_s;
  for (int32_t i = 0; kind->seats && i < kind->seat_count; i++)
    if (i == 0 || kind->seats[i].network_bytes_per_s < share)
      share = kind->seats[i].network_bytes_per_s;
  if (fabric->level_count > 0 && fabric->levels[0].bytes_per_s > share)
    share = fabric->levels[0].bytes_per_s;
  for (int32_t i = 1; kind->pairs && i < kind->seat_count * kind->seat_count; i++) {
    double rate = kind->pairs[i].bytes_per_s;
    if (kind->pairs[i].link_class == LINK_SYS) rate /= (double)kind->seat_count / 2; /* shared */
    if (i % (kind->seat_count + 1) != 0) slowest = least_known(slowest, rate);
  }
  return slowest > 0 && slowest < share;
}

/* Axes may leave nodes together where what is slow inside is slower than the network. On a slant
 * nodes are seldom alike, so each of them is looked at. */
static bool may_slant(const Search *s) {
  enum { NODES_SLANTED_MOST = 32 };
  bool may = false;
  if (s->fabric->node_count > NODES_SLANTED_MOST) return false;
  for (int32_t k = 0; k < s->fabric->kind_count; k++)
    may |= is_slow_inside(s->fabric, &s->fabric->kinds[k]);
  return may && s->fabric->node_count > 1;
}

/* A digit that crosses nodes, by digits that do not. */
static bool is_useful_slant(const Search *s, const Placement *at) {
  int64_t seats = common_seats(s->fabric);
  bool is_useful = at->slant != 0 && at->digit[at->slanted].stride >= seats;
  for (int32_t i = 0; i < at->digit_count; i++)
    if ((at->slant >> i & 1u) != 0) is_useful &= at->digit[i].stride * at->digit[i].size <= seats;
  return is_useful;
}

enum { SLANTS_KEPT = ORDERS_MOST - ORDERS_STRAIGHT };

typedef struct Slants {
  Tried at[SLANTS_KEPT];
  int32_t count;
} Slants;

static void keep_slant(Slants *slants, Tried slant) {
  int32_t i = slants->count < SLANTS_KEPT ? slants->count++ : SLANTS_KEPT;
  for (; i > 0 && is_lower(slant.price, slants->at[i - 1].price); i--)
    if (i < SLANTS_KEPT) slants->at[i] = slants->at[i - 1];
  if (i < SLANTS_KEPT) slants->at[i] = slant;
}

/* On the seats that helped without a slant. */
static void price_slant(const Search *s, const Order *order, const Placement *like,
                        Slants *slants) {
  Placement *at = place_in_order(s->fabric, s->mesh, order);
  if (!at || !is_useful_slant(s, at) || is_tried(s, at)) return;
  for (int32_t i = 0; i < slants->count; i++)
    if (is_same_placement(slants->at[i].at, at)) return;
  for (int32_t k = 0; k < s->fabric->kind_count; k++)
    memcpy(at->seats[k], like->seats[k],
           sizeof **at->seats * (size_t)s->fabric->kinds[k].seat_count);
  keep_slant(slants, (Tried){at, price_in(s, at)});
}

/* Every word slanted by one or two that are inside it. */
static void slant_order(const Search *s, Order order, const Placement *like, Slants *slants) {
  uint32_t inside = 0;
  for (int32_t i = 0; i < order.count; i++) {
    OrderTerm *term = &order.term[i];
    uint32_t others = inside & ~(1u << term->word);
    for (uint32_t slant = 1; slant <= others && term->part == 0; slant++) {
      if ((slant & ~others) != 0 || __builtin_popcount(slant) > 2) continue;
      term->slant = slant;
      price_slant(s, &order, like, slants);
      term->slant = 0;
    }
    if (order_word_size(s->mesh, term->word) > 1) inside |= 1u << term->word;
  }
}

static Tried *best_of(Search *s) {
  Tried *best = &s->tried[0];
  for (int32_t i = 1; i < s->count; i++)
    if (is_better(s->tried[i].price, best->price)) best = &s->tried[i];
  return best;
}

/* Tries slanted orders; each that is cheaper than all before is kept. */
static void try_slants(Search *s) {
  Slants slants = {.count = 0};
  int32_t straight = s->count;
  const Placement *like = best_of(s)->at;
  for (int32_t i = 0; i < straight; i++)
    if (s->tried[i].at->slant == 0) slant_order(s, s->tried[i].at->order, like, &slants);
  for (int32_t i = 0; i < slants.count; i++) {
    improve(s, &slants.at[i]);
    if (is_better(slants.at[i].price, best_of(s)->price)) s->tried[s->count++] = slants.at[i];
  }
}

Choice place_choose(const Fabric *fabric, const JobMesh *mesh, const Demands *demands, Wish wish) {
  Choice choice = {0};
  Search s = {.fabric = fabric, .mesh = mesh, .demands = demands, .wish = wish};
  s.priced = &choice.priced;
  Order order = order_usual;
  try_orders(&s, &order, 0); /* the usual order first: it wins against equal ones */
  if (wish.order) try_order(&s, wish.order);
  try_parts(&s);
  choice.usual_s = s.tried[0].price.seconds;
  for (int32_t i = 0; i < s.count; i++)
    improve(&s, &s.tried[i]);
  if (may_slant(&s)) try_slants(&s);
  choice.orders = s.count;
  for (int32_t i = 0; i < s.count; i++)
    choice.order[i] = (Alternative){s.tried[i].at->order, s.tried[i].price.seconds,
                                    s.tried[i].price.leaves_domain};
  const Tried *best = best_of(&s), *taken = best;
  Placement *asked = wish.order ? place_in_order(fabric, mesh, wish.order) : NULL;
  for (int32_t i = 0; asked && i < s.count; i++)
    if (is_same_placement(s.tried[i].at, asked)) taken = &s.tried[i];
  assert(taken->at && best->at);
  choice.taken = taken->at;
  choice.taken_order = (int32_t)(taken - s.tried);
  choice.taken_s = taken->price.seconds;
  choice.best = best->at->order;
  choice.best_s = best->price.seconds;
  if (wish.order) choice.taken->order = *wish.order;
  return choice;
}
