/* nccl_probe -- NCCL with 2 and 4 ranks on one GPU, one process a rank.
 *
 * NCCL 2.28 refuses two ranks on one GPU when their host hashes agree (src/init.cc, "Duplicate GPU
 * detected"), and NCCL_HOSTID replaces that hash; a different one for each process therefore lets
 * one GPU simulate several nodes, over sockets. Correctness only: the ranks take turns on the GPU,
 * so no time measured here says anything of real links. First the refusal itself is asked for.
 *
 * This process makes no CUDA call. It starts one copy of itself per rank, with its own environment,
 * waits with a deadline, and gathers the records of all ranks into one file.
 */
#include <nccl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/gpu/common/probe.h"
#include "tests/gpu/probes/nccl_rank.h"

enum { RANKS_MAX = 4, DEADLINE_S = 60, ID_HEX_SIZE = 2 * sizeof(ncclUniqueId) + 1 };

typedef struct {
  int ranks;
  bool one_host_id;
  const char *program;
  const char *results_path;
  char id_hex[ID_HEX_SIZE];
} Run;

static void rank_path(const Run *run, int rank, char *path, size_t size_bytes) {
  snprintf(path, size_bytes, "%s.rank%d", run->results_path, rank);
}

/* One small channel over the loopback socket; everything else NCCL might try is switched off. */
static void set_common_environment(void) {
  static const char *const settings[][2] = {
      {"NCCL_SOCKET_IFNAME", "lo"}, {"NCCL_NET", "Socket"},    {"NCCL_IB_DISABLE", "1"},
      {"NCCL_MNNVL_ENABLE", "0"},   {"NCCL_NVLS_ENABLE", "0"}, {"NCCL_RAS_ENABLE", "0"},
      {"NCCL_MIN_CTAS", "1"},       {"NCCL_MAX_CTAS", "1"},    {"NCCL_DEBUG", "WARN"},
      {"CUDA_VISIBLE_DEVICES", "0"}};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
    setenv(settings[i][0], settings[i][1], 1);
}

static _Noreturn void become_rank(const Run *run, int rank) {
  char rank_text[16], ranks_text[16], host_id[32], path[1024];
  snprintf(rank_text, sizeof rank_text, "%d", rank);
  snprintf(ranks_text, sizeof ranks_text, "%d", run->ranks);
  snprintf(host_id, sizeof host_id, "probe-host-%d", run->one_host_id ? 0 : rank);
  rank_path(run, rank, path, sizeof path);
  setenv("NCCL_HOSTID", host_id, 1);
  execl(run->program, run->program, "--rank", rank_text, ranks_text, run->id_hex, path,
        run->one_host_id ? "refusal" : "collectives", (char *)NULL);
  perror(run->program);
  _exit(PROBE_FAILED);
}

static bool make_id(Run *run) {
  ncclUniqueId id;
  ncclResult_t result = ncclGetUniqueId(&id);
  if (result != ncclSuccess) {
    fprintf(stderr, "ncclGetUniqueId -> %s: %s\n", ncclGetErrorString(result),
            ncclGetLastError(NULL));
    return false;
  }
  for (size_t i = 0; i < sizeof id; i++)
    snprintf(run->id_hex + 2 * i, 3, "%02x", (unsigned)(unsigned char)id.internal[i]);
  return true;
}

/* The worst status of all ranks; those alive at the deadline are killed. */
static int wait_for_ranks(const pid_t *processes, int ranks) {
  int worst = PROBE_PASSED, left = ranks;
  bool done[RANKS_MAX] = {false};
  for (int tick = 0; left > 0; tick++) {
    bool late = tick > DEADLINE_S * 50;
    for (int rank = 0; rank < ranks; rank++) {
      int status = 0;
      if (done[rank]) continue;
      if (late) {
        fprintf(stderr, "rank %d was not done after %d s: killed\n", rank, DEADLINE_S);
        kill(processes[rank], SIGKILL);
      }
      if (waitpid(processes[rank], &status, late ? 0 : WNOHANG) == 0) continue;
      done[rank] = true;
      left--;
      int code = WIFEXITED(status) ? WEXITSTATUS(status) : PROBE_FAILED;
      if (code != PROBE_PASSED && worst != PROBE_FAILED) worst = code;
    }
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  }
  return worst;
}

/* Appends what the ranks recorded to `out`, and removes their files. */
static void gather(const Run *run, FILE *out) {
  for (int rank = 0; rank < run->ranks; rank++) {
    char path[1024], block[4096];
    size_t length;
    rank_path(run, rank, path, sizeof path);
    FILE *in = fopen(path, "r");
    if (!in) continue;
    while ((length = fread(block, 1, sizeof block, in)) > 0)
      fwrite(block, 1, length, out);
    fclose(in);
    remove(path);
  }
}

static int run_ranks(Run *run, FILE *out) {
  pid_t processes[RANKS_MAX];
  if (!make_id(run)) return PROBE_FAILED;
  fflush(NULL);
  for (int rank = 0; rank < run->ranks; rank++) {
    processes[rank] = fork();
    if (processes[rank] == 0) become_rank(run, rank);
    if (processes[rank] < 0) {
      perror("fork");
      for (int started = 0; started < rank; started++)
        kill(processes[started], SIGKILL);
      wait_for_ranks(processes, rank);
      return PROBE_FAILED;
    }
  }
  int status = wait_for_ranks(processes, run->ranks);
  gather(run, out);
  if (status == PROBE_NO_DEVICE) return status;
  fprintf(out,
          "{\"probe\": \"nccl\", \"case\": \"%d ranks%s\", \"kind\": \"run\", \"ranks\": %d, "
          "\"ok\": %s}\n",
          run->ranks, run->one_host_id ? " with one host id" : "", run->ranks,
          status == PROBE_PASSED ? "true" : "false");
  (void)fflush(out); /* what was seen stays, if the rest is not reached */
  return status;
}

static int rank_main(char **argv) {
  NcclRank rank = {.rank = (int)strtol(argv[2], NULL, 10),
                   .ranks = (int)strtol(argv[3], NULL, 10),
                   .id_hex = argv[4],
                   .results_path = argv[5],
                   .expect_refusal = strcmp(argv[6], "refusal") == 0};
  if (strlen(rank.id_hex) != ID_HEX_SIZE - 1) return PROBE_USAGE;
  return nccl_rank_run(&rank);
}

int main(int argc, char **argv) {
  if (argc == 7 && strcmp(argv[1], "--rank") == 0) return rank_main(argv);
  if (argc != 2) {
    fprintf(stderr, "usage: nccl_probe RESULTS.jsonl\n");
    return PROBE_USAGE;
  }
  FILE *out = fopen(argv[1], "w");
  if (!out) {
    perror(argv[1]);
    return PROBE_FAILED;
  }
  set_common_environment();
  Run runs[] = {{.ranks = 2, .one_host_id = true}, {.ranks = 2}, {.ranks = 4}};
  int worst = PROBE_PASSED;
  for (int i = 0; i < 3 && worst != PROBE_NO_DEVICE; i++) {
    runs[i].program = "/proc/self/exe";
    runs[i].results_path = argv[1];
    int status = run_ranks(&runs[i], out);
    if (status != PROBE_PASSED && worst != PROBE_FAILED) worst = status;
  }
  if (fclose(out) != 0) worst = PROBE_FAILED;
  return worst;
}
