/* band.c -- nothing here blocks for long: the thread that calls it is the one that must notice who
 * does. */
#include "runtime/watch/band.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECT_MS = 5000, SEND_MS = 50, BACKLOG = 1024 };

/* Where a listener can be reached, as every rank learns it through PMIx. */
typedef struct Address {
  uint16_t port; /* 0: it does not listen; in network order, as the others */
  uint32_t count;
  uint32_t at[BAND_ADDRESSES];
  uint8_t token[BAND_TOKEN_BYTES];
} Address;

bool band_listens(int32_t rank, int32_t rank_count) {
  return rank == 0 || rank == rank_count - 1;
}

/* Of this host, its own to itself last. */
static void list_addresses(Address *address) {
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

static bool listen_here(Band *band, Address *address, Status *status) {
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

static bool connect_to(Band *band, const Address *address, int32_t rank, bool is_here,
                       Status *status) {
  BandPeer *peer = &band->peer[band->peer_count];
  BandMessage hello = {.kind = BAND_HELLO, .rank = band->rank};
  memcpy(hello.token, address->token, sizeof hello.token);
  int got = is_here ? connect_one(htonl(INADDR_LOOPBACK), address->port) : -1;
  for (uint32_t i = 0; i < address->count && i < BAND_ADDRESSES && got < 0; i++)
    got = connect_one(address->at[i], address->port);
  if (got < 0)
    return status_fail(status, STATUS_WORLD,
                       "the watchdog cannot reach rank %d over TCP: nodes of a job must reach "
                       "each other's ports",
                       rank);
  *peer = (BandPeer){.socket = got, .rank = rank};
  band->peer_count++;
  band_send(peer, &hello);
  return true;
}

static bool connect_all(Band *band, const Address *address, const int32_t *node, Status *status) {
  int32_t last = band->rank_count - 1;
  for (int32_t i = 0; i < BAND_LISTENERS; i++) {
    int32_t to = i == 0 ? 0 : last;
    if (to == band->rank || (i > 0 && last == 0)) continue;
    if (!connect_to(band, &address[to], to, node[to] == node[band->rank], status)) return false;
  }
  return true;
}

bool band_open(Band *band, Client *client, const int32_t *node, Status *status) {
  int32_t ranks = client->rank_count;
  Address own = {0}, *all = calloc((size_t)ranks, sizeof *all);
  *band = (Band){.rank = client->rank, .rank_count = ranks, .listener = -1};
  band->peer = calloc((size_t)ranks + BAND_LISTENERS, sizeof *band->peer);
  bool opened = all && band->peer;
  if (!opened) (void)status_fail(status, STATUS_WORLD, "not enough memory for %d ranks", ranks);
  if (opened && band_listens(client->rank, ranks)) opened = listen_here(band, &own, status);
  opened = opened && client_exchange(client, "lockstep.band", &own, all, sizeof own, status) &&
           connect_all(band, all, node, status);
  free(all);
  return opened;
}

void band_close(Band *band) {
  for (int32_t i = 0; i < band->peer_count; i++)
    if (band->peer[i].socket >= 0) (void)close(band->peer[i].socket);
  if (band->listener >= 0) (void)close(band->listener);
  free(band->peer);
}

void band_accept(Band *band) {
  int one = 1, got = accept4(band->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (got < 0) return;
  if (band->peer_count == band->rank_count + BAND_LISTENERS) { /* nobody of this job */
    (void)close(got);
    return;
  }
  (void)setsockopt(got, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  band->peer[band->peer_count++] = (BandPeer){.socket = got, .rank = -1};
}

BandGot band_receive(BandPeer *peer, BandMessage *message) {
  char *to = (char *)&peer->message + peer->have;
  ssize_t got = recv(peer->socket, to, sizeof peer->message - peer->have, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return BAND_NOTHING;
  if (got <= 0) return BAND_GONE;
  peer->have += (size_t)got;
  if (peer->have < sizeof peer->message) return BAND_NOTHING;
  peer->have = 0;
  *message = peer->message;
  message->text[BAND_TEXT_BYTES - 1] = 0;
  return BAND_MESSAGE;
}

/* A message that has begun is ended: half of one would spoil all that follow. */
void band_send(BandPeer *peer, const BandMessage *message) {
  const char *from = (const char *)message;
  for (size_t done = 0; done < sizeof *message && peer->socket >= 0;) {
    ssize_t sent =
        send(peer->socket, from + done, sizeof *message - done, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) done += (size_t)sent;
    if (sent > 0 || (sent < 0 && errno == EINTR)) continue;
    if (sent < 0 && errno == EAGAIN && done == 0) return;
    struct pollfd wait = {.fd = peer->socket, .events = POLLOUT};
    if (errno == EAGAIN && poll(&wait, 1, SEND_MS) == 1) continue;
    (void)shutdown(peer->socket, SHUT_RDWR);
    return;
  }
}

void band_send_all(Band *band, const BandMessage *message) {
  for (int32_t i = 0; i < band->peer_count; i++)
    if (band->peer[i].rank >= 0) band_send(&band->peer[i], message);
}
