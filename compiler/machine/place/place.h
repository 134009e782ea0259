/* place.h -- the slot of each rank, and the resulting rates between ranks.
 *
 * Ranks are coordinates of a mesh; axes fill slots one inside the other. The order of the axes is
 * chosen by the predicted time of all communications of a step, and so are the seats that
 * neighbours take on nodes whose links are not all alike. Everything is computed on what repeats
 * (axes, stages, one node of a kind), never rank by rank where nodes are alike. */
#ifndef LOCKSTEP_PLACE_PLACE_H
#define LOCKSTEP_PLACE_PLACE_H

#include "compiler/job/mesh.h"
#include "compiler/machine/place/fabric.h"

/* The words of parallel.order; in dp, replicas that duplicate state are outside those that shard
 * it. */
typedef enum OrderWord { ORDER_TP, ORDER_CP, ORDER_PP, ORDER_DP, ORDER_WORDS } OrderWord;
typedef struct OrderTerm {
  OrderWord word;
  int64_t part;   /* how many neighbours along the axis; 0: the rest of the axis */
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

/* Parses what order_text writes: "tp cp pp dp", "dp*2 tp cp pp dp", "dp*2 tp cp pp dp-tp". False:
 * not an order. */
bool order_parse(const char *text, Order *order);

int64_t order_word_size(const JobMesh *mesh, OrderWord word);

/* A coordinate, or one of its two parts: slot = the sum of digit x stride, coordinate = the sum of
 * its digits x weight.
 *
 * The last part of a slanted coordinate is rotated by other digits, modulo its size: a node that
 * holds tp 0 of some replicas holds tp 1 of others, so that two axes cross nodes and neither
 * crosses slow paths inside. */
typedef struct Digit {
  int32_t axis;
  int64_t size, stride, weight;
} Digit;

typedef struct Placement {
  Order order;
  int64_t size[MESH_AXES];    /* of the mesh */
  Digit digit[2 * MESH_AXES]; /* innermost first; none of size 1 */
  int32_t digit_count;
  int32_t slanted;              /* this digit is the coordinate's digit minus those of `slant`; */
  uint32_t slant;               /* bits of digits, the first parts of their axes; 0: none is */
  int32_t **seats;              /* by kind: the seat of each position of a node */
  struct NodeClasses **classes; /* remembered, by axes; NULL: not yet asked */
} Placement;

/* NULL: a part of the order does not divide its axis. */
Placement *place_in_order(const Fabric *fabric, const JobMesh *mesh, const Order *order);

/* True if the members of every communicator along the axes are connected by NVLink, xGMI or other
 * links that are faster than the network; true if no such links are known. */
bool place_is_in_domain(const Fabric *fabric, const Placement *at, uint32_t axes);

/* The order that the job asks for, checked; its tp, too, when ranks are placed. False: reported. */
bool place_check_order(Compile *c, const Job *job);
bool place_check_parts(Compile *c, const Job *job, const Fabric *fabric, const JobMesh *mesh);
bool place_check_tp(Compile *c, const Job *job, const Fabric *fabric, const Placement *at);

/* The rates of a communicator: those of the slowest. */
typedef struct Reach {
  double ring_bytes_per_s; /* of a ring over all members, with the NICs of all members of a node */
  double pair_bytes_per_s; /* of one member to the next */
  int64_t latency_ns;      /* of one message between the members that are farthest apart */
  int64_t inside_latency_ns; /* of one message inside a node */
  int32_t distance;          /* as fabric_distance, between the members that are farthest apart */
  bool is_in_domain;         /* no message leaves a node, or the NVLink domain of several */
  bool is_slow_inside;       /* members on one node use links that are slower than its fast ones */
  int32_t node_members;      /* on one node, the fewest */
  double ring_mean_s_per_byte, pair_mean_s_per_byte; /* mean over all communicators */
  int32_t rails; /* NICs that a ring has on one node, the fewest; 0: it stays inside, or
                    nodes are not described */
} Reach;

/* Communicators along the axes of the mask, of one stage; stage -1: of all ranks. */
Reach place_reach(const Fabric *fabric, const Placement *at, uint32_t axes, int32_t stage);

/* The first stage that has the same reach along the axes, which may be the stage itself. */
int32_t place_alike_stage(const Fabric *fabric, const Placement *at, uint32_t axes, int32_t stage);

/* The communication of the ranks of a stage along the axes of a mask in one step. */
typedef struct Demand {
  uint32_t axes;
  int32_t stage;
  double members;
  double ring_bytes, pair_bytes; /* of one rank, one way */
  /* passes over all members: of sums, of other collectives */
  double sum_passes, ring_passes, pair_messages;
} Demand;

typedef struct Demands {
  const Demand *at;
  int32_t count, stages;
} Demands;

/* 4! orders, plus those with axes in parts, plus slanted ones */
enum { ORDERS_WHOLE = 24, ORDERS_STRAIGHT = ORDERS_WHOLE + 12, ORDERS_MOST = ORDERS_STRAIGHT + 8 };

typedef struct Alternative {
  Order order; /* the first of the orders that place ranks the same way */
  /* Time of a step's communications one after the other, on the stage where it is longest, with the
   * best seats that were found for this order; 0: no rate is known. */
  double seconds;
  bool leaves_domain; /* tp leaves the NVLink domain although it should stay inside */
} Alternative;

typedef struct Choice {
  Placement *taken;
  double taken_s, usual_s, best_s; /* usual: tp cp pp dp on seats in the order of their devices */
  Order best;
  int32_t orders, taken_order; /* how many were tried; the number of the one taken */
  int64_t priced;              /* placements, including those with other seats */
  Alternative order[ORDERS_MOST];
} Choice;

typedef struct Wish {
  const Order *order; /* the user's; NULL: the best */
  bool keeps_tp; /* keep tp in a domain of fast links, or on a node if there are none, if any order
                    allows it */
} Wish;

/* In a tie the usual order is taken. */
Choice place_choose(const Fabric *fabric, const JobMesh *mesh, const Demands *demands, Wish wish);

#endif
