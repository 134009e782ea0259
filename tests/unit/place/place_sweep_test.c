/* On machines and for jobs drawn at random, no placement at all takes 1 % less than the chosen one.
 * Nodes have two sockets, the path between them is slower or faster than the network, seats are
 * numbered by socket or not; or links are scrambled: any two seats have any.   LINK: place base
 *   place_sweep_test [JOBS SEED]     so many of each shape, and how many are off, as a table */
#include <stdlib.h>

#include "tests/unit/check.h"
#include "tests/unit/place_by_rank.h"

/* SplitMix64: jobs do not come again, as they do from the low bits of a congruence. */
static uint64_t state = 1;

static int32_t draw(int32_t below) {
  state += 0x9E3779B97F4A7C15u;
  uint64_t mixed = (state ^ state >> 30) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
  return (int32_t)((mixed >> 32) * (uint64_t)below >> 32);
}

static double draw_of(const double *from, int32_t count) {
  return from[draw(count)];
}

enum { SEATS_DRAWN_MOST = 8 };

/* Nodes are alike; of scrambled ones any two seats are joined by whatever is drawn. */
typedef struct Shape {
  int64_t nodes;
  int32_t seats, jobs;
  bool is_scrambled;
} Shape;

/* Which socket each seat is on. */
static void draw_sockets(int32_t seats, int32_t *socket) {
  for (int32_t i = 0; i < seats; i++)
    socket[i] = i / ((seats + 1) / 2);
  for (int32_t i = seats - 1; i > 0 && draw(2) == 0; i--) {
    int32_t other = draw(i + 1), kept = socket[i];
    socket[i] = socket[other], socket[other] = kept;
  }
}

/* PCIe or links in each socket, a slower path between the two. */
static void draw_rows(const Shape *shape, char *rows) {
  static const char any[] = {'1', '2', '-', 's'};
  int32_t socket[SEATS_DRAWN_MOST], seats = shape->seats;
  draw_sockets(seats, socket);
  const char inside[] = {draw(2) == 0 ? '-' : '2', draw(2) == 0 ? '-' : '2'};
  for (int32_t a = 0; a < seats; a++)
    for (int32_t b = 0; b <= a; b++) {
      char row = (char)(socket[a] == socket[b] ? inside[socket[a]] : 's');
      if (shape->is_scrambled) row = any[draw(4)];
      rows[a * seats + b] = rows[b * seats + a] = (char)(a == b ? 'X' : row);
    }
}

static Fabric draw_machine(Arena *arena, const Shape *shape) {
  static const double network[] = {3, 6, 12, 25}, between[] = {3, 6, 9};
  char rows[SEATS_DRAWN_MOST * SEATS_DRAWN_MOST + 1] = "";
  int32_t seats = shape->seats;
  draw_rows(shape, rows);
  Fabric fabric = linked(arena, shape->nodes, seats, rows);
  NodeKind *kind = ARENA_NEW(arena, NodeKind);
  SeatPair *pairs = ARENA_ARRAY(arena, SeatPair, seats * seats);
  double slow = draw_of(between, 3) * giga;
  *kind = *fabric.kinds;
  for (int32_t i = 0; i < seats * seats; i++) {
    pairs[i] = kind->pairs[i];
    if (pairs[i].link_class == LINK_SYS) pairs[i].bytes_per_s = slow;
  }
  kind->pairs = pairs;
  kind->network_bytes_per_s = draw_of(network, 4) * giga;
  fabric.kinds = kind;
  if (shape->nodes > 3 && draw(2) == 0) add_level(&fabric, "leaf", 2, 0, 3);
  return fabric;
}

/* Every divisor of what is left, for one axis after the other. */
static JobMesh draw_mesh(int64_t ranks) {
  int64_t degree[4] = {1, 1, 1, 1}, axis = draw(4);
  for (int32_t i = 0; i < 3; i++, axis = (axis + 1) % 4) {
    do
      degree[axis] = 1 + draw((int32_t)ranks);
    while (ranks % degree[axis] != 0);
    ranks /= degree[axis];
  }
  degree[axis] = ranks;
  return mesh_of(degree[0], degree[1], degree[2], degree[3]);
}

static bool is_same(const Placement *a, const Placement *b) {
  bool is = a->digit_count == b->digit_count && a->slant == b->slant;
  if (is && a->slant != 0) is = a->slanted == b->slanted;
  for (int32_t i = 0; is && i < a->digit_count; i++)
    is = a->digit[i].axis == b->digit[i].axis && a->digit[i].stride == b->digit[i].stride;
  return is;
}

/* The words printed for a placement make the same placement again. */
static void check_words(const Fabric *fabric, const JobMesh *mesh, const Placement *at) {
  Order order;
  bool is_read = order_parse(order_text(fabric->arena, &at->order), &order);
  CHECK(is_read);
  const Placement *again = is_read ? place_in_order(fabric, mesh, &order) : NULL;
  CHECK(again && is_same(again, at));
}

/* The result of one job. */
typedef struct Drawn {
  bool is_slanted;
  double off; /* the chosen one's time / the least of all */
} Drawn;

static Drawn check_drawn(const Shape *shape) {
  static const double sent[] = {1, 2, 4, 8};
  Arena *arena = arena_new();
  uint64_t began = state;
  Fabric fabric = draw_machine(arena, shape);
  JobMesh mesh = draw_mesh(fabric.slot_count);
  double gigabytes[4];
  for (int32_t i = 0; i < 4; i++)
    gigabytes[i] = draw_of(sent, 4);
  Demands demands = demands_of_mesh(arena, &mesh, gigabytes);
  Choice choice = place_choose(&fabric, &mesh, &demands, (Wish){NULL, false});
  Ranks r = ranks_of(&fabric, &mesh, &demands);
  double least = least_price(&r, 0, &demands, 1e30);
  double own = price_of_placement(&r, &mesh, choice.taken, &demands);
  bool is_equal = own > choice.taken_s * (1 - 1e-9) && own < choice.taken_s * (1 + 1e-9);
  bool is_least = choice.taken_s <= least * 1.01;
  CHECK(is_equal);
  CHECK(is_least);
  if (!is_equal || !is_least)
    printf("%lld nodes of %d%s, tp %lld cp %lld pp %lld dp %lld, drawn from %llu: %s %.4g s, "
           "by rank %.4g, least %.4g\n",
           (long long)shape->nodes, shape->seats, shape->is_scrambled ? " scrambled" : "",
           (long long)mesh.size[MESH_TP], (long long)mesh.size[MESH_CP],
           (long long)mesh.size[MESH_PP], (long long)mesh.size[MESH_DP], (unsigned long long)began,
           order_text(arena, &choice.taken->order), choice.taken_s, own, least);
  check_words(&fabric, &mesh, choice.taken);
  Drawn drawn = {choice.taken->slant != 0, choice.taken_s / least};
  arena_free(arena);
  return drawn;
}

/* How many of them are on a slant. */
static int32_t check_shape(const Shape *shape) {
  int32_t slanted = 0;
  for (int32_t job = 0; job < shape->jobs; job++)
    slanted += check_drawn(shape).is_slanted;
  return slanted;
}

/* Many of each shape, from a seed of the caller's. */
static void sweep(int32_t jobs) {
  static const Shape shapes[] = {{2, 2, 0, false}, {2, 3, 0, false}, {3, 2, 0, false},
                                 {2, 4, 0, false}, {4, 2, 0, false}, {1, 8, 0, false},
                                 {2, 2, 0, true},  {2, 3, 0, true},  {3, 2, 0, true},
                                 {2, 4, 0, true},  {4, 2, 0, true},  {1, 8, 0, true}};
  printf("%-24s %8s %8s %8s %9s %9s\n", "nodes", "jobs", "slanted", "off 1 %", "off 0.1 %",
         "worst");
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    int32_t slanted = 0, off = 0, little = 0;
    double worst = 1;
    for (int32_t job = 0; job < jobs; job++) {
      Drawn drawn = check_drawn(&shapes[i]);
      slanted += drawn.is_slanted;
      off += drawn.off > 1.01;
      little += drawn.off > 1.001;
      if (drawn.off > worst) worst = drawn.off;
    }
    printf("%lld of %d%-18s %8d %8d %8d %9d %7.2f %%\n", (long long)shapes[i].nodes,
           shapes[i].seats, shapes[i].is_scrambled ? ", scrambled" : "", jobs, slanted, off, little,
           (worst - 1) * 100);
    fflush(stdout);
  }
}

int main(int count, char **words) {
  static const Shape shapes[] = {{2, 2, 200, false},
                                 {2, 3, 200, false},
                                 {3, 2, 200, false},
                                 {2, 4, 20, false},
                                 {4, 2, 20, false}};
  int32_t slanted = 0;
  TEST("no placement takes 1 % less than the chosen one") {
    if (count == 3) {
      state = strtoull(words[2], NULL, 10);
      sweep(atoi(words[1]));
      break;
    }
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
      slanted += check_shape(&shapes[i]);
    CHECK(slanted > 50);
  }
  CHECK_DONE();
}
