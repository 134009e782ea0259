/* place.h -- which slot each rank has, and what lies between ranks then.
 *
 * Ranks are coordinates of a mesh; axes fill slots one inside the other. The order of the axes is
 * chosen by the predicted time of all communications of a step, and so are the seats that
 * neighbours take on nodes whose links are not all alike. Everything is worked out on what
 * repeats: axes, stages, one node of a kind; never rank by rank where nodes are alike. */
#ifndef LOCKSTEP_PLACE_PLACE_H
#define LOCKSTEP_PLACE_PLACE_H

#include "compiler/graph/graph.h"
#include "compiler/place/fabric.h"

/* Axes in the words of parallel.order; replicas that repeat states go outside those that share
 * them. */
typedef enum OrderWord { ORDER_TP, ORDER_CP, ORDER_PP, ORDER_DP, ORDER_WORDS } OrderWord;
typedef struct OrderTerm {
  OrderWord word;
  int64_t part;   /* so many neighbours of the word; 0: all of it that is left */
  uint32_t slant; /* a bit for each word inside it whose first part it is slanted by, see Digit */
} OrderTerm;

enum { TERMS_MOST = 2 * ORDER_WORDS };

/* Innermost first: each word once, or twice, then with its part first. One may be slanted. */
typedef struct Order {
  OrderTerm term[TERMS_MOST];
  int32_t count;
} Order;
extern const Order order_usual; /* tp cp pp dp */
const char *order_text(Arena *arena, const Order *order);

/* Reads words as order_text writes them: "tp cp pp dp", "dp*2 tp cp pp dp", "dp*2 tp cp pp dp-tp".
 * False: they are not. */
bool order_parse(const char *text, Order *order);

int64_t order_word_size(const Mesh *mesh, OrderWord word);

/* A coordinate, or one of its two parts: slot = the sum of digit x stride, coordinate = the sum of
 * its digits x weight.
 *
 * Of a slanted coordinate the last part is turned by other digits, once around at its size: a node
 * that holds tp 0 of some replicas holds tp 1 of others, so that two axes cross nodes and neither
 * crosses what is slow inside. */
typedef struct Digit {
  int32_t axis;
  int64_t size, stride, weight;
} Digit;

typedef struct Placement {
  Order order;
  int64_t size[MESH_AXES];    /* of the mesh */
  Digit digit[2 * MESH_AXES]; /* innermost first; none of size 1 */
  int32_t digit_count;
  int32_t slanted;              /* the digit that is the coordinate's less those of `slant`; */
  uint32_t slant;               /* bits of digits, the first parts of their axes; 0: none is */
  int32_t **seats;              /* by kind: the seat that each position of a node has */
  struct NodeClasses **classes; /* remembered, by axes; NULL: not yet asked */
} Placement;

/* NULL: a part of the order does not divide its axis. */
Placement *place_in_order(const Fabric *fabric, const Mesh *mesh, const Order *order);

/* Whether the members of every communicator along the axes are joined by NVLink, xGMI or what else
 * is faster than the network; true where nothing is known to be fast. */
bool place_is_in_domain(const Fabric *fabric, const Placement *at, uint32_t axes);

/* The order that the job asks for, checked; its tp, too, when ranks are placed. False: reported. */
bool place_check_order(Compile *c, const Job *job);
bool place_check_parts(Compile *c, const Job *job, const Fabric *fabric, const Mesh *mesh);
bool place_check_tp(Compile *c, const Job *job, const Fabric *fabric, const Placement *at);

/* What the ranks of a communicator have of it: the slowest of them. */
typedef struct Reach {
  double ring_bytes_per_s; /* of a ring of all, NICs of all members of a node counted */
  double pair_bytes_per_s; /* of one member to the next */
  int64_t latency_ns;      /* of one message */
  int32_t distance;        /* as fabric_distance: of the members that are farthest */
  bool is_slow_inside;     /* members of one node pass links that are slower than its fast ones */
  int32_t node_members;    /* on one node, the fewest */
  double ring_mean_s_per_byte, pair_mean_s_per_byte; /* over all communicators, not the slowest */
  int32_t rails; /* NICs that a ring has on one node, the fewest; 0: it stays inside, or
                    nodes are not described */
} Reach;

/* Communicators along the axes of the mask; stage: of these ranks alone, -1: of all. */
Reach place_reach(const Fabric *fabric, const Placement *at, uint32_t axes, int32_t stage);

/* A stage that has the same reach along the axes, itself or one before it. */
int32_t place_alike_stage(const Fabric *fabric, const Placement *at, uint32_t axes, int32_t stage);

/* What the ranks of a stage do along the axes of a mask in one step. */
typedef struct Demand {
  uint32_t axes;
  int32_t stage;
  double ring_bytes, ring_messages, pair_bytes, pair_messages; /* of one rank, one way */
} Demand;

typedef struct Demands {
  const Demand *at;
  int32_t count, stages;
} Demands;

/* Of the stage that communicates longest, in a step, one after the other; 0: no rate is known. */
double place_seconds(const Fabric *fabric, const Placement *at, const Demands *demands);

/* 4!; and with axes in parts; and slanted */
enum { ORDERS_WHOLE = 24, ORDERS_STRAIGHT = ORDERS_WHOLE + 12, ORDERS_MOST = ORDERS_STRAIGHT + 8 };

typedef struct Alternative {
  Order order;        /* the first of those that place ranks alike */
  double seconds;     /* place_seconds, on the best seats that were found for it */
  bool leaves_domain; /* tp does, and was to stay */
} Alternative;

typedef struct Choice {
  Placement *taken;
  double taken_s, usual_s, best_s; /* usual: tp cp pp dp on seats in the order of their devices */
  Order best;
  int32_t orders, taken_order; /* looked at; of them */
  int64_t priced;              /* placements, those with other seats too */
  Alternative order[ORDERS_MOST];
} Choice;

typedef struct Wish {
  const Order *order; /* the user's; NULL: the best */
  bool keeps_tp;      /* tp stays in a domain of fast links, or on a node where there are none,
                         where any order can have it so */
} Wish;

/* Of equals the usual order is taken. */
Choice place_choose(const Fabric *fabric, const Mesh *mesh, const Demands *demands, Wish wish);

#endif
