/* Memory of the host is registered for a GPU in pieces, against a stand-in that behaves as CUDA 13
 * with drivers from R580. Skipped (77) without CUDA's headers.
 * LINK: runtime */
#include <stdio.h>

#if __has_include(<cuda_runtime_api.h>)
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "runtime/device/arena.h"
#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/ranges.h"
#include "tests/unit/check.h"
#include "tests/unit/cuda_stand_in.h"

static const size_t odd_bytes = ((size_t)3 << 20) + 5;
static const ArenaMap map = {cuda_map, cuda_unmap, cuda_pin, cuda_unpin};

void range_begin(const char *name) {
  (void)name;
}

void range_end(void) {}

static void check_nothing_is_open(void) {
  CHECK_INT(cuda_stand_in_open(), 0);
  CHECK_INT(cuda_stand_in_wrongs(), 0);
  CHECK_INT(cudaGetLastError(), cudaSuccess);
}

/* All of it, once, and after its first touch, which the stand-in looks at. */
static void test_arena(void) {
  Arena host = {0}, device = {0};
  Status status = {0};
  CHECK(arena_open_for(&host, TIER_HOST, odd_bytes, &map, &status));
  CHECK(arena_open_for(&device, TIER_DEVICE, 100, &map, &status));
  CHECK_INT(cuda_stand_in_open(), 2);
  CHECK(cuda_stand_in_locked(host.base, odd_bytes) && !cuda_stand_in_locked(device.base, 100));
  CHECK(host.base[0] == 0 && host.base[odd_bytes - 1] == 0 && device.base[99] == 0);
  CHECK(!cuda_pin(host.base, odd_bytes, &status));
  CHECK_TEXT(status.text,
             "CUDA cannot lock memory of the host: part or all of the requested memory "
             "range is already mapped");
  arena_close_for(&host, TIER_HOST, &map);
  arena_close_for(&device, TIER_DEVICE, &map);
  check_nothing_is_open();
}

static void test_refused(void) {
  Arena host = {0};
  Status status = {0};
  struct rlimit before, limit;
  CHECK(getrlimit(RLIMIT_MEMLOCK, &before) == 0);
  limit = (struct rlimit){1000000, before.rlim_max};
  CHECK(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
  cuda_stand_in_lock_limit(limit.rlim_cur);
  CHECK(!arena_open_for(&host, TIER_HOST, odd_bytes, &map, &status));
  CHECK_TEXT(status.text,
             "the system refuses to lock 3.15 MB of host memory for the GPU: raise the limit of "
             "locked memory (ulimit -l: 1 MB), or move less (offload, with share or most)");
  CHECK_INT(status.code, STATUS_WORLD);
  CHECK(host.base == NULL);
  (void)setrlimit(RLIMIT_MEMLOCK, &before);
  cuda_stand_in_lock_limit(UINT64_MAX);
  check_nothing_is_open();
}

/* The pages at both sides of each end of a piece, which the stand-in looks at. */
static void touch(uint8_t *base, uint64_t size_bytes) {
  for (uint64_t at = 0, piece; at < size_bytes; at += piece) {
    piece = cuda_piece_bytes(base + at, size_bytes - at);
    base[at] = base[at + piece - 1] = 7;
  }
}

static void copy_across(uint8_t *end) {
  uint8_t there[8] = {0};
  Status status = {0};
  Device *device = cuda_device_open(&(DeviceSetup){.lane_count = 1}, &status);
  memcpy(end - 4, "\1\2\3\4\5\6\7\10", 8);
  CHECK(device->ops->copy(device->ops->queue(device, 0), there, end - 4, 8, 1, &status));
  CHECK(memcmp(there, end - 4, 8) == 0);
  CHECK(device->ops->copy(device->ops->queue(device, 0), end - 3, there, 6, 2, &status));
  CHECK(memcmp(there, end - 3, 6) == 0);
  device->ops->close(device);
}

/* More than one call registers. */
static void test_pieces(void) {
  const uint64_t size_bytes = (uint64_t)700 << 30;
  Status status = {0};
  uint8_t *base = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    printf("no addresses for 700 GB: pieces are not tested\n");
    return;
  }
  touch(base, size_bytes);
  CHECK(cuda_pin(base, size_bytes, &status));
  CHECK(cuda_stand_in_locked(base, size_bytes));
  const uint64_t first_bytes = cuda_piece_bytes(base, size_bytes);
  copy_across(base + first_bytes);
  cuda_unpin(base, size_bytes);
  check_nothing_is_open();
  cuda_stand_in_lock_limit(first_bytes); /* the second piece is refused, and the first given back */
  CHECK(!cuda_pin(base, size_bytes, &status));
  cuda_stand_in_lock_limit(UINT64_MAX);
  check_nothing_is_open();
  (void)munmap(base, size_bytes);
}

static void test_no_memory_operations(void) {
  Status status = {0};
  cuda_stand_in_memory_operations(false);
  CHECK(cuda_device_open(&(DeviceSetup){.lane_count = 2, .queues_mask = 2, .host_mask = 2},
                         &status) == NULL);
  CHECK(strstr(status.text, "no stream memory operations of 64 bits for this GPU") != NULL);
  cuda_stand_in_memory_operations(true);
  check_nothing_is_open();
}

int main(void) {
  TEST("an arena of the host is locked whole, after its first touch") test_arena();
  TEST("a refusal names the limit, and leaves nothing") test_refused();
  TEST("memory is registered in pieces, and no copy crosses two") test_pieces();
  TEST("a driver that streams cannot wait by is refused") test_no_memory_operations();
  CHECK_DONE();
}
#else
int main(void) {
  printf("CUDA's headers are not installed\n");
  return 77;
}
#endif
