/* band.h -- the side band: small messages between the ranks of a job over TCP, beside MPI.
 *
 * Of each node the first and the last rank are its agents: they listen, and the ranks of the node
 * are connected to both. The first and the last rank of the job are its roots: agents of all nodes
 * are connected to both. So every voice has two ways, and when an agent or a root is lost the other
 * still hears all. Who connects shows a token that PMIx has brought, and that nobody outside the
 * job knows. */
#ifndef LOCKSTEP_WATCH_BAND_H
#define LOCKSTEP_WATCH_BAND_H

#include "runtime/boot/client.h"
#include "runtime/watch/judge.h"

enum { BAND_UP_MAX = 4, BAND_TOKEN_BYTES = 16, BAND_ADDRESSES = 8, BAND_TEXT_BYTES = 1024 };

typedef enum BandKind {
  BAND_HELLO,
  BAND_BEAT,
  BAND_FAIL,
  BAND_LOST, /* an agent's: a rank of its node has gone without a word */
  BAND_LEAVE,
  BAND_END
} BandKind;

/* On the wire as long as its kind needs. */
typedef struct BandMessage {
  uint32_t size_bytes; /* band_send sets it */
  uint32_t kind;
  int32_t rank; /* whom it is about, which an agent may say for it; of BAND_END, who is lost */
  int32_t code; /* exit code: of BAND_FAIL, its own; of BAND_END, the run's */
  uint32_t is_written; /* of BAND_END: every rank writes what it has done, too */
  union {
    uint8_t token[BAND_TOKEN_BYTES]; /* of BAND_HELLO */
    Beat beat;                       /* of BAND_BEAT */
    char text[BAND_TEXT_BYTES];      /* of BAND_FAIL and BAND_END: why */
  };
} BandMessage;

typedef struct BandPeer {
  int socket;   /* -1: there is none */
  int32_t rank; /* -1: it has not said */
  bool is_up;   /* this rank has connected to it, an agent or a root */
  bool has_left;
  size_t have;
  char bytes[sizeof(BandMessage)]; /* what has come and was not taken */
} BandPeer;

typedef struct Band {
  int32_t rank, rank_count;
  const int32_t *node;           /* of every rank */
  uint32_t lanes_count;          /* of the plan: so many are in a beat */
  int32_t first_here, last_here; /* agents of this node */
  int listener;                  /* -1: this rank does not listen */
  uint8_t token[BAND_TOKEN_BYTES];
  BandPeer *peer;
  int32_t peer_count, peer_room;
} Band;

/* Sizes up what a rank of the job has to do with whom; returns when this one is connected. Every
 * rank of the job calls it. `node` is of every rank, and lives as long as the band. */
bool band_open(Band *band, Client *client, const int32_t *node, uint32_t lanes_count,
               Status *status);
void band_close(Band *band);

/* Whether this rank judges all; whether it listens. A root is an agent, too. */
bool band_is_root(const Band *band, int32_t rank);
bool band_is_agent(const Band *band);

/* Whether `rank` is of this node, and no agent. */
bool band_is_charge(const Band *band, int32_t rank);

/* What a peer has sent, when it is whole. BAND_GONE: its connection has ended. */
typedef enum BandGot { BAND_NOTHING, BAND_MESSAGE, BAND_GONE } BandGot;
BandGot band_receive(BandPeer *peer, BandMessage *message);

/* A new connection, if one waits. False: none does. */
bool band_accept(Band *band);

/* What does not leave at once is given up, for a beat that is late is none. To one; to all; to
 * agents and roots; to roots on other nodes; to those that have connected and are of this node. */
void band_send(const Band *band, BandPeer *peer, BandMessage *message);
void band_send_all(Band *band, BandMessage *message);
void band_send_up(Band *band, BandMessage *message);
void band_send_away(Band *band, BandMessage *message);
void band_send_down(Band *band, BandMessage *message);

#endif
