/* band.h -- the side band: small messages between the ranks of a job over TCP, beside MPI.
 *
 * The first and the last rank of each node are its agents: they listen, and the ranks of the node
 * are connected to both. The first and the last rank of the job are its roots: agents of all nodes
 * are connected to both. So every message has two paths, and when an agent or a root is lost the
 * other one still receives everything. A rank that connects sends a token that it got through PMIx
 * and that is unknown outside the job. */
#ifndef LOCKSTEP_WATCH_BAND_H
#define LOCKSTEP_WATCH_BAND_H

#include "runtime/pmix/client.h"
#include "runtime/watch/judge.h"

enum { BAND_UP_MAX = 4, BAND_TOKEN_BYTES = 16, BAND_ADDRESSES = 8, BAND_TEXT_BYTES = 1024 };

typedef enum BandKind {
  BAND_HELLO,
  BAND_BEAT,
  BAND_FAIL,
  BAND_LOST, /* from an agent: a rank of its node has disconnected without a message */
  BAND_LEAVE,
  BAND_STARVED, /* from an agent: a silent rank of its node waits for processors */
  BAND_END
} BandKind;

/* On the wire it is only as long as its kind needs. */
typedef struct BandMessage {
  uint32_t size_bytes; /* band_send sets it */
  uint32_t kind;
  int32_t
      rank; /* the rank it is about, for which an agent may send it; in BAND_END, the lost rank */
  int32_t
      code; /* exit code: in BAND_FAIL, the rank's; in BAND_END, the run's; ms in BAND_STARVED */
  uint32_t is_written; /* in BAND_END: every rank writes its flight record, too */
  union {
    uint8_t token[BAND_TOKEN_BYTES]; /* of BAND_HELLO */
    Beat beat;                       /* of BAND_BEAT */
    Load load;                       /* of BAND_STARVED */
    char text[BAND_TEXT_BYTES];      /* of BAND_FAIL and BAND_END: why */
  };
} BandMessage;

typedef struct BandPeer {
  int socket;   /* -1: there is none */
  int32_t rank; /* -1: not known yet */
  bool is_up;   /* this rank has connected to it, an agent or a root */
  bool has_left;
  int64_t heard_ms; /* of its own messages; 0: none */
  int32_t pid;      /* of its beats */
  Pulse pulse;      /* of its silence */
  size_t have;
  char bytes[sizeof(BandMessage)]; /* received and not taken yet */
} BandPeer;

typedef struct Band {
  int32_t rank, rank_count;
  const int32_t *node;           /* of every rank */
  uint64_t *machine;             /* of every rank: pulse_machine */
  uint32_t lanes_count;          /* of the plan: this many are in a beat */
  int32_t first_here, last_here; /* agents of this node */
  int listener;                  /* -1: this rank does not listen */
  uint8_t token[BAND_TOKEN_BYTES];
  BandPeer *peer;
  int32_t peer_count, peer_room;
} Band;

/* Connects this rank to its agents and roots; returns when it is connected. Every rank of the job
 * calls it. `node` is the node of every rank and must live as long as the band. */
bool band_open(Band *band, Client *client, const int32_t *node, uint32_t lanes_count,
               Status *status);
void band_close(Band *band);

/* True if this rank judges all ranks; whether it listens. A root is also an agent. */
bool band_is_root(const Band *band, int32_t rank);
bool band_is_agent(const Band *band);

/* True if `rank` is on this node and is not an agent. */
bool band_is_charge(const Band *band, int32_t rank);

/* True if this rank sees the process of `rank` in /proc. */
bool band_is_near(const Band *band, int32_t rank);

/* The next complete message of a peer. BAND_GONE: its connection has ended. */
typedef enum BandGot { BAND_NOTHING, BAND_MESSAGE, BAND_GONE } BandGot;
BandGot band_receive(BandPeer *peer, BandMessage *message);

/* Accepts a new connection. False: none is waiting. */
bool band_accept(Band *band);

/* Messages that cannot be sent at once are dropped, because a late beat is useless. To one; to all;
 * to agents and roots; to roots on other nodes; to connected ranks of this node. */
void band_send(const Band *band, BandPeer *peer, BandMessage *message);
void band_send_all(Band *band, BandMessage *message);
void band_send_up(Band *band, BandMessage *message);
void band_send_away(Band *band, BandMessage *message);
void band_send_down(Band *band, BandMessage *message);

#endif
