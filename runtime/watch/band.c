/* band.c -- nothing here blocks for long, because the calling thread is the one that must notice
 * which rank does. */
#include "runtime/watch/band.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/process/plural.h"

enum { CONNECT_MS = 5000, SEND_MS = 50, BACKLOG = 4096, STRANGERS = 8, OTHER_FILES = 256 };

/* The address of a listener, which every rank gets through PMIx. */
typedef struct BandAddress {
  uint16_t port; /* 0: it does not listen; in network order, as the others */
  uint32_t count;
  uint32_t at[BAND_ADDRESSES];
  uint8_t token[BAND_TOKEN_BYTES];
  uint64_t machine;
} BandAddress;

bool band_is_root(const Band *band, int32_t rank) {
  return rank == 0 || rank == band->rank_count - 1;
}

bool band_is_agent(const Band *band) {
  return band->rank == band->first_here || band->rank == band->last_here;
}

static bool is_here(const Band *band, int32_t rank) {
  return band->node[rank] == band->node[band->rank];
}

bool band_is_charge(const Band *band, int32_t rank) {
  return is_here(band, rank) && rank != band->first_here && rank != band->last_here;
}

bool band_is_near(const Band *band, int32_t rank) {
  return band->machine[rank] != 0 && band->machine[rank] == band->machine[band->rank];
}

/* ---- connections */

/* This host's addresses, loopback last. */
static void list_addresses(BandAddress *address) {
  struct ifaddrs *list = NULL;
  if (getifaddrs(&list) != 0) list = NULL;
  for (int loopback = 0; loopback < 2; loopback++)
    for (struct ifaddrs *at = list; at && address->count < BAND_ADDRESSES; at = at->ifa_next) {
      bool is_loopback = (at->ifa_flags & IFF_LOOPBACK) != 0;
      if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET || !(at->ifa_flags & IFF_UP) ||
          is_loopback != (loopback == 1))
        continue;
      struct sockaddr_in ip;
      memcpy(&ip, at->ifa_addr, sizeof ip);
      address->at[address->count++] = ip.sin_addr.s_addr;
    }
  if (list) freeifaddrs(list);
}

static bool world_fails(Status *status, const char *what) {
  return status_fail(status, STATUS_WORLD, "the watchdog's %s: %s", what, strerror(errno));
}

static bool listen_here(Band *band, BandAddress *address, Status *status) {
  struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
  socklen_t length = sizeof any;
  band->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (band->listener < 0 || bind(band->listener, (struct sockaddr *)&any, sizeof any) != 0 ||
      listen(band->listener, BACKLOG) != 0 ||
      getsockname(band->listener, (struct sockaddr *)&any, &length) != 0)
    return world_fails(status, "socket");
  if (getrandom(band->token, sizeof band->token, 0) != sizeof band->token)
    return world_fails(status, "token");
  address->port = any.sin_port;
  memcpy(address->token, band->token, sizeof band->token);
  list_addresses(address);
  return true;
}

static bool wait_connected(int socket) {
  struct pollfd wait = {.fd = socket, .events = POLLOUT};
  int failure = 0;
  socklen_t length = sizeof failure;
  return poll(&wait, 1, CONNECT_MS) == 1 &&
         getsockopt(socket, SOL_SOCKET, SO_ERROR, &failure, &length) == 0 && failure == 0;
}

static int connect_one(uint32_t host, uint16_t port) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = host};
  int one = 1, got = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (got < 0) return -1;
  (void)setsockopt(got, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  int result = connect(got, (struct sockaddr *)&to, sizeof to);
  if (result == 0 || (errno == EINPROGRESS && wait_connected(got))) return got;
  (void)close(got);
  return -1;
}

static bool connect_to(Band *band, const BandAddress *address, int32_t rank, Status *status) {
  BandPeer *peer = &band->peer[band->peer_count];
  BandMessage hello = {.kind = BAND_HELLO, .rank = band->rank};
  memcpy(hello.token, address->token, sizeof hello.token);
  int got = is_here(band, rank) ? connect_one(htonl(INADDR_LOOPBACK), address->port) : -1;
  for (uint32_t i = 0; i < address->count && i < BAND_ADDRESSES && got < 0; i++)
    got = connect_one(address->at[i], address->port);
  if (got < 0)
    return status_fail(status, STATUS_WORLD,
                       "the watchdog cannot reach rank %d over TCP: nodes of a job must reach "
                       "each other's ports",
                       rank);
  *peer = (BandPeer){.socket = got, .rank = rank, .is_up = true};
  band->peer_count++;
  band_send(band, peer, &hello);
  return true;
}

static bool is_connected(const Band *band, int32_t rank) {
  for (int32_t i = 0; i < band->peer_count; i++)
    if (band->peer[i].rank == rank) return true;
  return rank == band->rank;
}

/* Connects to the agents of the node and, if it is an agent, to the roots. */
static bool connect_all(Band *band, const BandAddress *address, Status *status) {
  const int32_t to[BAND_UP_MAX] = {band->first_here, band->last_here, 0, band->rank_count - 1};
  for (int32_t i = 0; i < (band_is_agent(band) ? BAND_UP_MAX : 2); i++)
    if (!is_connected(band, to[i]) && !connect_to(band, &address[to[i]], to[i], status))
      return false;
  return true;
}

/* The first and last rank of every node are its agents. */
static bool count_peers(Band *band) {
  int32_t ranks = band->rank_count, heads = 0, here = 0;
  int32_t *last = malloc((size_t)ranks * sizeof *last);
  if (!last) return false;
  for (int32_t i = 0; i < ranks; i++)
    last[i] = -1;
  for (int32_t i = 0; i < ranks; i++) {
    heads += last[band->node[i]] < 0;
    last[band->node[i]] = i;
    if (!is_here(band, i)) continue;
    if (here++ == 0) band->first_here = i;
    band->last_here = i;
  }
  free(last);
  band->peer_room = BAND_UP_MAX;
  if (band_is_agent(band)) band->peer_room += here + STRANGERS;
  if (band_is_root(band, band->rank)) band->peer_room += 2 * heads;
  return true;
}

/* A root holds two connections for each node, which may exceed the 1,024 open files that many
 * systems allow at first. */
static void allow_files(const Band *band) {
  struct rlimit limit;
  rlim_t wanted = (rlim_t)band->peer_room + OTHER_FILES;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

bool band_open(Band *band, Client *client, const int32_t *node, uint32_t lanes_count,
               Status *status) {
  int32_t ranks = client->rank_count;
  BandAddress own = {.machine = pulse_machine()}, *all = calloc((size_t)ranks, sizeof *all);
  *band = (Band){.rank = client->rank,
                 .rank_count = ranks,
                 .node = node,
                 .lanes_count = lanes_count,
                 .listener = -1};
  if (all && count_peers(band)) band->peer = calloc((size_t)band->peer_room, sizeof *band->peer);
  band->machine = calloc((size_t)ranks, sizeof *band->machine);
  bool opened = all && band->peer && band->machine;
  if (!opened)
    (void)status_fail(status, STATUS_WORLD, "not enough memory for %d rank%s", ranks,
                      plural(ranks));
  allow_files(band);
  if (opened && band_is_agent(band)) opened = listen_here(band, &own, status);
  opened = opened && client_exchange(client, "lockstep.band", &own, all, sizeof own, status) &&
           connect_all(band, all, status);
  for (int32_t i = 0; opened && i < ranks; i++)
    band->machine[i] = all[i].machine;
  free(all);
  return opened;
}

void band_close(Band *band) {
  for (int32_t i = 0; i < band->peer_count; i++)
    if (band->peer[i].socket >= 0) (void)close(band->peer[i].socket);
  if (band->listener >= 0) (void)close(band->listener);
  free(band->peer);
  free(band->machine);
}

bool band_accept(Band *band) {
  int one = 1, got = accept4(band->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (got < 0) return false;
  if (band->peer_count == band->peer_room) { /* not a rank of this job */
    (void)close(got);
    return true;
  }
  (void)setsockopt(got, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  band->peer[band->peer_count++] = (BandPeer){.socket = got, .rank = -1};
  return true;
}

/* ---- messages */

enum { HEAD_BYTES = offsetof(BandMessage, token) };

static uint32_t size_of(const Band *band, const BandMessage *message) {
  switch (message->kind) {
  case BAND_HELLO: return HEAD_BYTES + BAND_TOKEN_BYTES;
  case BAND_BEAT:
    return HEAD_BYTES + (uint32_t)(offsetof(Beat, lane) + band->lanes_count * sizeof(FlightNow));
  case BAND_STARVED: return HEAD_BYTES + (uint32_t)sizeof(Load);
  case BAND_FAIL:
  case BAND_END: return HEAD_BYTES + (uint32_t)strlen(message->text) + 1;
  default: return HEAD_BYTES;
  }
}

/* Bytes that are not sent, of lanes that the plan does not have, are 0. */
static BandGot take_whole(BandPeer *peer, BandMessage *message) {
  uint32_t size_bytes;
  if (peer->have < sizeof size_bytes) return BAND_NOTHING;
  memcpy(&size_bytes, peer->bytes, sizeof size_bytes);
  if (size_bytes < HEAD_BYTES || size_bytes > sizeof *message) return BAND_GONE;
  if (peer->have < size_bytes) return BAND_NOTHING;
  memset(message, 0, sizeof *message);
  memcpy(message, peer->bytes, size_bytes);
  peer->have -= size_bytes;
  memmove(peer->bytes, peer->bytes + size_bytes, peer->have);
  if (message->kind == BAND_FAIL || message->kind == BAND_END)
    message->text[BAND_TEXT_BYTES - 1] = 0;
  return BAND_MESSAGE;
}

BandGot band_receive(BandPeer *peer, BandMessage *message) {
  for (;;) {
    BandGot taken = take_whole(peer, message);
    if (taken != BAND_NOTHING) return taken;
    ssize_t got =
        recv(peer->socket, peer->bytes + peer->have, sizeof peer->bytes - peer->have, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return BAND_NOTHING;
    if (got <= 0) return BAND_GONE;
    peer->have += (size_t)got;
  }
}

/* A message that was begun is completed: half of one would garble all that follow. */
void band_send(const Band *band, BandPeer *peer, BandMessage *message) {
  const char *from = (const char *)message;
  message->size_bytes = size_of(band, message);
  for (size_t done = 0; done < message->size_bytes && peer->socket >= 0;) {
    ssize_t sent =
        send(peer->socket, from + done, message->size_bytes - done, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) done += (size_t)sent;
    if (sent > 0 || (sent < 0 && errno == EINTR)) continue;
    if (sent < 0 && errno == EAGAIN && done == 0) return;
    struct pollfd wait = {.fd = peer->socket, .events = POLLOUT};
    if (errno == EAGAIN && poll(&wait, 1, SEND_MS) == 1) continue;
    (void)shutdown(peer->socket, SHUT_RDWR);
    return;
  }
}

void band_send_all(Band *band, BandMessage *message) {
  for (int32_t i = 0; i < band->peer_count; i++)
    if (band->peer[i].rank >= 0) band_send(band, &band->peer[i], message);
}

void band_send_up(Band *band, BandMessage *message) {
  for (int32_t i = 0; i < band->peer_count; i++)
    if (band->peer[i].is_up) band_send(band, &band->peer[i], message);
}

void band_send_away(Band *band, BandMessage *message) {
  for (int32_t i = 0; i < band->peer_count; i++) {
    BandPeer *peer = &band->peer[i];
    if (peer->is_up && !is_here(band, peer->rank)) band_send(band, peer, message);
  }
}

void band_send_down(Band *band, BandMessage *message) {
  for (int32_t i = 0; i < band->peer_count; i++) {
    BandPeer *peer = &band->peer[i];
    if (!peer->is_up && peer->rank >= 0 && is_here(band, peer->rank))
      band_send(band, peer, message);
  }
}
