/* seat.c -- compares what sysfs shows of this node with what the plan's seats name. */
#include "runtime/boot/seat.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_place.h"
#include "runtime/process/plural.h"

enum { PATH_BYTES = 512 };

static bool has_file(const char *system, const char *folder, const char *name) {
  char path[PATH_BYTES];
  (void)snprintf(path, sizeof path, "%.200s/%s/%.200s", system, folder, name);
  return access(path, F_OK) == 0;
}

/* A description names a NIC by its verbs device, its network interface, or its address. */
static bool has_nic(const char *system, const char *nic) {
  return has_file(system, "class/infiniband", nic) || has_file(system, "class/net", nic) ||
         has_file(system, "bus/pci/devices", nic);
}

static bool lacks(char why[SEAT_WHY_BYTES], const char *what, const char *name, const char *kind) {
  (void)snprintf(why, SEAT_WHY_BYTES, "has no %s %.64s, which the plan gives it on a node '%.64s'",
                 what, name, kind);
  return false;
}

static bool check_cores(const Plan *plan, const char *cores, const Cores *allowed,
                        char why[SEAT_WHY_BYTES]) {
  Cores named;
  char text[CORES_TEXT_BYTES];
  int32_t threads = job_threads(plan) < 1 ? 1 : (int32_t)job_threads(plan), usable = 0;
  if (!cores_parse(cores, &named)) return true; /* any will do */
  for (int32_t i = 0; i < named.count; i++)
    usable += cores_hold(allowed, named.core[i]);
  int32_t wanted = threads < named.count ? threads : named.count;
  if (usable >= wanted) return true;
  (void)snprintf(why, SEAT_WHY_BYTES,
                 "may use processors %.100s, and the plan gives it %.64s for its %d thread%s",
                 cores_text(allowed, text), cores, threads, plural(threads));
  return false;
}

bool seat_check(const Plan *plan, int32_t rank, const Cores *allowed, const char *system,
                char why[SEAT_WHY_BYTES]) {
  RankPlace place = plan_place(plan, (uint32_t)rank);
  const char *kind = plan_string(plan, place.run->kind);
  *why = 0;
  if (place.seat == NULL) return true;
  const char *pci = plan_string(plan, place.seat->pci), *nic = plan_string(plan, place.seat->nic);
  if (*pci && !has_file(system, "bus/pci/devices", pci)) return lacks(why, "PCI device", pci, kind);
  if (*nic && !has_nic(system, nic)) return lacks(why, "NIC", nic, kind);
  return check_cores(plan, plan_string(plan, place.seat->cores), allowed, why);
}

void seat_machine(char machine[SEAT_MACHINE_BYTES]) {
  char line[256], model[100] = "unknown processor";
  FILE *file = fopen("/proc/cpuinfo", "re");
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "model name : %99[^\n]", model) == 1) break;
  if (file) (void)fclose(file);
  (void)snprintf(machine, SEAT_MACHINE_BYTES, "%s, %d processor%s", model, get_nprocs_conf(),
                 plural(get_nprocs_conf()));
}
