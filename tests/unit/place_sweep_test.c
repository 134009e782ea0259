/* On machines and for jobs drawn at random, no placement at all takes 1 % less than the chosen one.
 * Nodes have two sockets, the path between them is slower or faster than the network, seats are
 * numbered by socket or not.   LINK: place base */
#include "tests/unit/check.h"
#include "tests/unit/place_by_rank.h"

static uint32_t state = 1;

static int32_t draw(int32_t below) {
  state = state * 1664525u + 1013904223u;
  return (int32_t)((state >> 8) % (uint32_t)below);
}

static double draw_of(const double *from, int32_t count) {
  return from[draw(count)];
}

enum { SEATS_DRAWN_MOST = 4 };

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
static Fabric draw_machine(Arena *arena, int64_t nodes, int32_t seats) {
  static const double network[] = {3, 6, 12, 25}, between[] = {3, 6, 9};
  char rows[SEATS_DRAWN_MOST * SEATS_DRAWN_MOST + 1] = "";
  int32_t socket[SEATS_DRAWN_MOST];
  draw_sockets(seats, socket);
  const char inside[] = {draw(2) == 0 ? '-' : '2', draw(2) == 0 ? '-' : '2'};
  for (int32_t a = 0; a < seats; a++)
    for (int32_t b = 0; b < seats; b++)
      rows[a * seats + b] = (char)(a == b ? 'X' : socket[a] == socket[b] ? inside[socket[a]] : 's');
  Fabric fabric = linked(arena, nodes, seats, rows);
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
  if (nodes > 3 && draw(2) == 0) add_level(&fabric, "leaf", 2, 0, 3);
  return fabric;
}

/* Every divisor of what is left, for one axis after the other. */
static Mesh draw_mesh(int64_t ranks) {
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

/* The words that are said of a placement make it again. */
static void check_words(const Fabric *fabric, const Mesh *mesh, const Placement *at) {
  Order order;
  bool is_read = order_parse(order_text(fabric->arena, &at->order), &order);
  CHECK(is_read);
  const Placement *again = is_read ? place_in_order(fabric, mesh, &order) : NULL;
  CHECK(again && is_same(again, at));
}

/* Was the chosen one on a slant? */
static bool check_drawn(int64_t nodes, int32_t seats) {
  static const double sent[] = {1, 2, 4, 8};
  Arena *arena = arena_new();
  Fabric fabric = draw_machine(arena, nodes, seats);
  Mesh mesh = draw_mesh(fabric.slot_count);
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
    printf("%lld nodes of %d, tp %lld cp %lld pp %lld dp %lld: %s %.4g s, by rank %.4g, "
           "least %.4g\n",
           (long long)nodes, seats, (long long)mesh.size[MESH_TP], (long long)mesh.size[MESH_CP],
           (long long)mesh.size[MESH_PP], (long long)mesh.size[MESH_DP],
           order_text(arena, &choice.taken->order), choice.taken_s, own, least);
  check_words(&fabric, &mesh, choice.taken);
  bool is_slanted = choice.taken->slant != 0;
  arena_free(arena);
  return is_slanted;
}

int main(void) {
  static const struct {
    int64_t nodes;
    int32_t seats, jobs;
  } shapes[] = {{2, 2, 200}, {2, 3, 200}, {3, 2, 200}, {2, 4, 20}, {4, 2, 20}};
  int32_t slanted = 0;
  TEST("no placement takes 1 % less than the chosen one") {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
      for (int32_t job = 0; job < shapes[i].jobs; job++)
        slanted += check_drawn(shapes[i].nodes, shapes[i].seats);
    CHECK(slanted > 50);
  }
  CHECK_DONE();
}
