/* band.h -- the side band: small messages between the ranks of a job over TCP, beside MPI.
 *
 * Two ranks listen, the first and the last, and every rank is connected to both: when one of the
 * two is lost the other still hears all. Who connects shows a token that PMIx has brought, and that
 * nobody outside the job knows. */
#ifndef LOCKSTEP_WATCH_BAND_H
#define LOCKSTEP_WATCH_BAND_H

#include "runtime/boot/client.h"
#include "runtime/watch/judge.h"

enum { BAND_LISTENERS = 2, BAND_TOKEN_BYTES = 16, BAND_ADDRESSES = 8, BAND_TEXT_BYTES = 1024 };

typedef enum BandKind { BAND_HELLO, BAND_BEAT, BAND_FAIL, BAND_LEAVE, BAND_END } BandKind;

typedef struct BandMessage {
  uint32_t kind;
  int32_t rank;                    /* who sends; of BAND_END, who is lost */
  int32_t code;                    /* exit code: of BAND_FAIL, its own; of BAND_END, the run's */
  uint8_t token[BAND_TOKEN_BYTES]; /* of BAND_HELLO */
  uint32_t is_written;             /* of BAND_END: every rank writes what it has done, too */
  Beat beat;                       /* of BAND_BEAT */
  char text[BAND_TEXT_BYTES];      /* of BAND_FAIL and BAND_END: why */
} BandMessage;

typedef struct BandPeer {
  int socket;   /* -1: there is none */
  int32_t rank; /* -1: it has not said */
  size_t have;
  BandMessage message; /* as far as it has come */
} BandPeer;

typedef struct Band {
  int32_t rank, rank_count;
  int listener; /* -1: this rank does not listen */
  uint8_t token[BAND_TOKEN_BYTES];
  BandPeer *peer; /* of a listener one for each rank; then those that this rank has connected to */
  int32_t peer_count;
} Band;

/* Ranks that listen. */
bool band_listens(int32_t rank, int32_t rank_count);

/* Every rank of the job calls it; returns when this one is connected. */
bool band_open(Band *band, Client *client, const int32_t *node, Status *status);
void band_close(Band *band);

/* What a peer has sent, when it is whole. BAND_GONE: its connection has ended. */
typedef enum BandGot { BAND_NOTHING, BAND_MESSAGE, BAND_GONE } BandGot;
BandGot band_receive(BandPeer *peer, BandMessage *message);

/* A new connection, if one waits. */
void band_accept(Band *band);

/* What does not leave at once is given up, for a beat that is late is none. */
void band_send(BandPeer *peer, const BandMessage *message);
void band_send_all(Band *band, const BandMessage *message);

#endif
