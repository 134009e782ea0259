#include "runtime/preflight/offload.h"

#include <string.h>
#include <sys/statvfs.h>

#include "runtime/bench/bench.h"
#include "runtime/device/files.h"
#include "runtime/preflight/line.h"

enum { TRIED_BYTES = 128 << 20 };
static const double tried_s = 0.5;

uint64_t offload_node_bytes(const Plan *plan) {
  const PlanPlace *place = &plan->places[0];
  const uint32_t ranks =
      place->node_ranks < place->rank_count ? place->node_ranks : place->rank_count;
  uint64_t most = 0;
  for (uint32_t i = 0; i < plan->classes_count; i++) {
    const uint64_t bytes = plan_arena_bytes(plan, &plan->classes[i], TIER_FILE);
    if (bytes > most) most = bytes;
  }
  return most * ranks;
}

void offload_look(const Plan *plan, OffloadDisk *disk) {
  const uint64_t bytes = offload_node_bytes(plan);
  *disk = (OffloadDisk){.free_bytes = -1};
  if (bytes == 0) return;
  const char *directory = plan_string(plan, plan->tiers[plan_tier(plan, TIER_FILE)].path);
  struct statvfs room;
  FileRates rates;
  Status status = {0};
  if (statvfs(directory, &room) == 0)
    disk->free_bytes = (int64_t)((uint64_t)room.f_bavail * room.f_frsize);
  const char *apart = tier_file_apart(directory);
  if (apart != NULL) (void)snprintf(disk->apart, sizeof disk->apart, "%s", apart);
  if (!bench_file(directory, TRIED_BYTES, tried_s, &rates, &status)) {
    (void)snprintf(disk->why, sizeof disk->why, "%.500s", status.text);
    for (char *p = disk->why; *p != '\0'; p++)
      if (*p == '\n') *p = ' ';
    return;
  }
  disk->is_direct = rates.is_direct;
  disk->read_mbs = (int64_t)(rates.read_per_s * 1e-6);
  disk->write_mbs = (int64_t)(rates.write_per_s * 1e-6);
}

static const char line_head[] = "offload free=";

void offload_print(const OffloadDisk *disk, FILE *out) {
  fprintf(out, "%s%lld direct=%d read=%lld write=%lld apart=%s; why=%s\n", line_head,
          (long long)disk->free_bytes, disk->is_direct, (long long)disk->read_mbs,
          (long long)disk->write_mbs, disk->apart, disk->why);
}

bool offload_read_line(const char *line, OffloadDisk *disk) {
  if (strncmp(line, line_head, sizeof line_head - 1) != 0) return false;
  *disk = (OffloadDisk){.free_bytes = number_of(line, "free="),
                        .is_direct = number_of(line, "direct=") > 0,
                        .read_mbs = number_of(line, "read="),
                        .write_mbs = number_of(line, "write=")};
  rest_of(line, "apart=", disk->apart, sizeof disk->apart);
  disk->apart[strcspn(disk->apart, ";")] = '\0';
  rest_of(line, " why=", disk->why, sizeof disk->why);
  return true;
}
