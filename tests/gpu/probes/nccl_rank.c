#include "tests/gpu/probes/nccl_rank.h"

#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/gpu/common/device.h"
#include "tests/gpu/common/record.h"

/* Nothing in NCCL times out by itself, so every wait here has a deadline. Ranks that share a GPU
 * take turns on it, and NCCL's kernels spin while they wait: seconds, where microseconds are usual.
 */
static const double DEADLINE_S = 25.0;

#define TRY_NCCL(call)                                                                             \
  do {                                                                                             \
    ncclResult_t result_ = (call);                                                                 \
    if (result_ != ncclSuccess && result_ != ncclInProgress)                                       \
      FAIL("%s -> %s: %s", #call, ncclGetErrorString(result_), ncclGetLastError(NULL));            \
  } while (0)

typedef struct {
  Device device;
  ncclComm_t comm;
  int rank, ranks;
  Results *results;
} Rank;

static double now_s(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void nap(void) {
  nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

/* Memory in use on the GPU, by all ranks that share it: the part of NCCL is the difference between
 * two records. It connects ranks when a collective first needs it. */
static void record_memory(Results *results) {
  size_t free_bytes = 0, all_bytes = 0;
  if (cudaMemGetInfo(&free_bytes, &all_bytes) == cudaSuccess)
    record_integer(results, "gpu_used_bytes", (int64_t)(all_bytes - free_bytes));
}

/* A communicator made with blocking = 0 is ready when it no longer says ncclInProgress. */
static bool wait_comm(ncclComm_t comm) {
  double deadline_s = now_s() + DEADLINE_S;
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) {
    TRY_NCCL(ncclCommGetAsyncError(comm, &state));
    if (now_s() > deadline_s) FAIL("the communicator was not ready after %.0f s", DEADLINE_S);
    nap();
  }
  TRY_NCCL(state);
  return true;
}

static bool wait_stream(Rank *rank) {
  double deadline_s = now_s() + DEADLINE_S;
  cudaError_t state;
  while ((state = cudaStreamQuery(rank->device.stream)) == cudaErrorNotReady) {
    ncclResult_t async = ncclSuccess;
    TRY_NCCL(ncclCommGetAsyncError(rank->comm, &async));
    TRY_NCCL(async);
    if (now_s() > deadline_s) FAIL("the collective was not done after %.0f s", DEADLINE_S);
    nap();
  }
  TRY_CUDA(state);
  return true;
}

/* Element i of what rank r contributes: whole numbers whose sum over 4 ranks is exact in bf16. */
static double contribution(int rank, int64_t i) {
  return (double)(i % 61 + rank);
}

typedef struct {
  const char *name;
  int send_parts, receive_parts; /* of `count` elements each; 0 means one per rank */
  bool (*enqueue)(Rank *rank, const void *from, void *to, size_t count, ncclDataType_t type);
  double (*expected)(const Rank *rank, int64_t i, int64_t count);
} Collective;

static bool all_reduce(Rank *rank, const void *from, void *to, size_t count, ncclDataType_t type) {
  TRY_NCCL(ncclAllReduce(from, to, count, type, ncclSum, rank->comm, rank->device.stream));
  return true;
}

static bool reduce_scatter(Rank *rank, const void *from, void *to, size_t count,
                           ncclDataType_t type) {
  TRY_NCCL(ncclReduceScatter(from, to, count, type, ncclSum, rank->comm, rank->device.stream));
  return true;
}

static bool all_gather(Rank *rank, const void *from, void *to, size_t count, ncclDataType_t type) {
  TRY_NCCL(ncclAllGather(from, to, count, type, rank->comm, rank->device.stream));
  return true;
}

/* To the next rank, from the one before: both in one group, or every rank waits for ever. */
static bool pass_on(Rank *rank, const void *from, void *to, size_t count, ncclDataType_t type) {
  int next = (rank->rank + 1) % rank->ranks;
  int before = (rank->rank + rank->ranks - 1) % rank->ranks;
  TRY_NCCL(ncclGroupStart());
  TRY_NCCL(ncclSend(from, count, type, next, rank->comm, rank->device.stream));
  TRY_NCCL(ncclRecv(to, count, type, before, rank->comm, rank->device.stream));
  TRY_NCCL(ncclGroupEnd());
  return true;
}

static double sum_over_ranks(const Rank *rank, int64_t i) {
  double sum = 0.0;
  for (int r = 0; r < rank->ranks; r++)
    sum += contribution(r, i);
  return sum;
}

static double expect_sum(const Rank *rank, int64_t i, int64_t count) {
  (void)count;
  return sum_over_ranks(rank, i);
}

static double expect_own_part(const Rank *rank, int64_t i, int64_t count) {
  return sum_over_ranks(rank, rank->rank * count + i);
}

static double expect_all_parts(const Rank *rank, int64_t i, int64_t count) {
  (void)rank;
  return contribution((int)(i / count), i % count);
}

static double expect_the_one_before(const Rank *rank, int64_t i, int64_t count) {
  (void)count;
  return contribution((rank->rank + rank->ranks - 1) % rank->ranks, i);
}

static const Collective COLLECTIVES[] = {
    {"all_reduce", 1, 1, all_reduce, expect_sum},
    {"reduce_scatter", 0, 1, reduce_scatter, expect_own_part},
    {"all_gather", 1, 0, all_gather, expect_all_parts},
    {"send_recv", 1, 1, pass_on, expect_the_one_before},
};

static bool compare(Rank *rank, const Collective *collective, NumberType type, const void *got,
                    int64_t count) {
  int64_t parts = collective->receive_parts ? collective->receive_parts : rank->ranks;
  for (int64_t i = 0; i < parts * count; i++) {
    double expected = collective->expected(rank, i, count), value = number_at(type, got, i);
    if (value != expected) FAIL("element %lld is %g, not %g", (long long)i, value, expected);
  }
  return true;
}

/* `host` has room for the larger of both sides. */
static bool run_on(Rank *rank, const Collective *collective, NumberType type, int64_t count,
                   void *host) {
  int64_t sent = (collective->send_parts ? collective->send_parts : rank->ranks) * count;
  int64_t received = (collective->receive_parts ? collective->receive_parts : rank->ranks) * count;
  size_t each_bytes = number_size_bytes(type);
  cudaStream_t stream = rank->device.stream;
  void *from = device_take(&rank->device, (size_t)sent * each_bytes);
  void *to = device_take(&rank->device, (size_t)received * each_bytes);
  TRY(from && to);
  for (int64_t i = 0; i < sent; i++)
    number_put(type, host, i, contribution(rank->rank, i));
  TRY_CUDA(cudaMemcpyAsync(from, host, (size_t)sent * each_bytes, cudaMemcpyHostToDevice, stream));
  TRY_CUDA(cudaMemsetAsync(to, 0xff, (size_t)received * each_bytes, stream));
  TRY_CUDA(cudaStreamSynchronize(stream));
  double start_s = now_s();
  TRY(collective->enqueue(rank, from, to, (size_t)count,
                          type == TYPE_BF16 ? ncclBfloat16 : ncclFloat32));
  TRY(wait_comm(rank->comm));
  TRY(wait_stream(rank));
  record_number(rank->results, "time_us", (now_s() - start_s) * 1e6);
  TRY_CUDA(
      cudaMemcpyAsync(host, to, (size_t)received * each_bytes, cudaMemcpyDeviceToHost, stream));
  TRY_CUDA(cudaStreamSynchronize(stream));
  return compare(rank, collective, type, host, count);
}

static bool run_collective(Rank *rank, const Collective *collective, NumberType type,
                           int64_t count) {
  char name[96];
  snprintf(name, sizeof name, "%d ranks, %s %s of %lld", rank->ranks, collective->name,
           type == TYPE_BF16 ? "bf16" : "fp32", (long long)count);
  record_begin(rank->results, "nccl", name);
  record_text(rank->results, "kind", "collective");
  record_integer(rank->results, "rank", rank->rank);
  void *host = malloc((size_t)rank->ranks * (size_t)count * sizeof(float));
  bool ok = host ? run_on(rank, collective, type, count, host)
                 : probe_fail(__FILE__, __LINE__, "out of host memory");
  free(host);
  device_reset(&rank->device);
  record_memory(rank->results);
  record_end(rank->results, ok);
  return ok;
}

static bool join(Rank *rank, const char *id_hex) {
  ncclUniqueId id;
  for (size_t i = 0; i < sizeof id; i++) {
    unsigned byte = 0;
    if (sscanf(id_hex + 2 * i, "%2x", &byte) != 1) FAIL("the id is no hexadecimal number");
    id.internal[i] = (char)byte;
  }
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  TRY_NCCL(ncclCommInitRankConfig(&rank->comm, rank->ranks, id, rank->rank, &config));
  return wait_comm(rank->comm);
}

static bool record_join(Rank *rank, const NcclRank *told) {
  char name[96];
  snprintf(name, sizeof name, "%d ranks join%s", told->ranks,
           told->expect_refusal ? " with one host id" : "");
  record_begin(rank->results, "nccl", name);
  record_text(rank->results, "kind", told->expect_refusal ? "refusal" : "join");
  record_integer(rank->results, "rank", told->rank);
  int version = 0;
  record_memory(rank->results);
  (void)ncclGetVersion(&version);
  record_integer(rank->results, "nccl_version", version);
  double start_s = now_s();
  bool joined = join(rank, told->id_hex);
  record_number(rank->results, "time_s", now_s() - start_s);
  if (told->expect_refusal) {
    record_bool(rank->results, "refused", !joined);
    if (!joined) record_text(rank->results, "reason", probe_failure());
    record_end(rank->results, true); /* an observation: either answer is worth knowing */
  } else {
    record_end(rank->results, joined);
  }
  return joined;
}

int nccl_rank_run(const NcclRank *told) {
  static Rank rank;
  static const int64_t counts[] = {1, 1000, 1 << 20};
  rank.rank = told->rank;
  rank.ranks = told->ranks;
  device_open(&rank.device, (size_t)64 << 20);
  rank.results = results_open(told->results_path);
  if (!rank.results) return PROBE_FAILED;
  bool ok = record_join(&rank, told);
  for (int c = 0; ok && !told->expect_refusal && c < 4; c++)
    for (int n = 0; ok && n < 3; n++)
      for (int type = TYPE_BF16; ok && type <= TYPE_FP32; type++)
        ok = run_collective(&rank, &COLLECTIVES[c], (NumberType)type, counts[n]);
  /* After an error only an abort is safe; a finalise would wait for ranks that are gone. */
  if (rank.comm) (void)(ok ? ncclCommDestroy(rank.comm) : ncclCommAbort(rank.comm));
  return results_close(rank.results) ? PROBE_PASSED : PROBE_FAILED;
}
