/* cluster.c -- from cluster = { "dgx-h100", nodes = 2 } to what a rank has. Files of specs/clusters
 * and specs/devices are plain tables; a cluster file may begin with another cluster's name. */
#include <math.h>
#include <string.h>

#include "compiler/spec/sandbox.h"
#include "compiler/spec/spec_room.h"
#include "compiler/spec/units.h"

enum { LONGEST_CHAIN = 8 };

typedef bool Parse(const char *text, double *number);

typedef struct Key {
  const char *name;
  Parse *parse; /* NULL: a whole number */
  const char *example;
} Key;

enum {
  CLUSTER_NODES,
  CLUSTER_DEVICES,
  CLUSTER_CORES,
  CLUSTER_MEMORY,
  CLUSTER_INTRA,
  CLUSTER_INTER,
  CLUSTER_INTRA_LATENCY,
  CLUSTER_INTER_LATENCY
};
static const Key cluster_keys[] = {
    {"nodes", NULL, "a whole number"},           {"devices", NULL, "a whole number"},
    {"cores", NULL, "a whole number"},           {"memory", units_bytes, "\"80GiB\""},
    {"intra", units_rate, "\"450GB/s\""},        {"inter", units_rate, "\"400Gb/s\""},
    {"intra_latency", units_latency, "\"5us\""}, {"inter_latency", units_latency, "\"10us\""},
};
enum { CLUSTER_KEYS = sizeof cluster_keys / sizeof *cluster_keys };

enum { DEVICE_MEMORY, DEVICE_RESERVE, DEVICE_FP32, DEVICE_BF16, DEVICE_BANDWIDTH };
static const Key device_keys[] = {
    {"memory", units_bytes, "\"80GiB\""},      {"reserve", units_bytes, "\"1.2GB\""},
    {"fp32", units_flops, "\"67TFLOP/s\""},    {"bf16", units_flops, "\"989TFLOP/s\""},
    {"bandwidth", units_rate, "\"3.35TB/s\""},
};
enum { DEVICE_KEYS = sizeof device_keys / sizeof *device_keys };

/* What a chain of files says, the later file first. */
typedef struct Facts {
  double number[8];
  bool is_known[8];
  Span span[8];
  const char *device; /* of clusters */
  Span device_span;
} Facts;

static void read_fact(Compile *c, const SpecFile *file, const RawEntry *entry, const Key *keys,
                      int32_t count, Facts *facts) {
  Span at = span_of_value(file->spans, entry->key);
  VEC(const char *) names = {0};
  for (int32_t i = 0; i < count; i++) {
    VEC_PUSH(c->arena, &names, keys[i].name);
    if (strcmp(keys[i].name, entry->key) != 0) continue;
    double number = entry->value->number;
    bool is_good =
        keys[i].parse ? entry->value->kind == RAW_TEXT && keys[i].parse(entry->value->text, &number)
                      : entry->value->kind == RAW_NUMBER && number == floor(number);
    if (!is_good || !(number >= 1 && number <= 1e18)) {
      error_at(c, at, "wrong-type", "%s: expected %s; got %s", entry->key, keys[i].example,
               raw_show(c->arena, entry->value));
      return;
    }
    if (!facts->is_known[i]) {
      facts->number[i] = number;
      facts->is_known[i] = true;
      facts->span[i] = at;
    }
    return;
  }
  const char *near = nearest_word(entry->key, names.at, names.count);
  error_at(c, span_of_key(file->spans, entry->key), "unknown-key", "%s: no such key of this file",
           text_show(c->arena, entry->key));
  if (near) fix_last(c, "%s", near);
}

static void read_entries(Compile *c, const SpecFile *file, bool is_cluster, Facts *facts) {
  for (int32_t i = 0; i < file->raw->named.count; i++) {
    const RawEntry *entry = &file->raw->named.at[i];
    bool is_device = is_cluster && strcmp(entry->key, "device") == 0;
    if (is_device && entry->value->kind != RAW_TEXT)
      error_at(c, span_of_value(file->spans, "device"), "wrong-type",
               "device: expected a name of specs/devices or \"cpu\"; got %s",
               raw_show(c->arena, entry->value));
    else if (is_device && !facts->device) {
      facts->device = path_located(c->arena, file->directory, entry->value->text);
      facts->device_span = span_of_value(file->spans, "device");
    }
    if (!is_device)
      read_fact(c, file, entry, is_cluster ? cluster_keys : device_keys,
                is_cluster ? CLUSTER_KEYS : DEVICE_KEYS, facts);
  }
}

static bool read_facts(Compile *c, lua_State *L, const char *kind, const char *name,
                       const char *directory, Span at, Facts *facts) {
  bool is_cluster = strcmp(kind, "clusters") == 0;
  int32_t errors = c->diags.error_count;
  for (int32_t depth = 0; name; depth++) {
    if (depth == LONGEST_CHAIN)
      return error_at(c, at, "base-cycle", "cluster files that begin with each other without end");
    const char *path = sandbox_find(c, kind, name, directory, at);
    if (!path) return false;
    SpecFile file = spec_file_read(c, L, path, "return", at);
    if (!file.spans || c->diags.error_count > errors) return false;
    if (!file.raw)
      return error_at(c, (Span){.file = path}, "wrong-type", "a %s file ends with: return { ... }",
                      is_cluster ? "cluster" : "device");
    read_entries(c, &file, is_cluster, facts);
    if (c->diags.error_count > errors) return false;
    const Raw *base = file.raw->list.count > 0 ? file.raw->list.at[0] : NULL;
    name = is_cluster && base && base->kind == RAW_TEXT ? base->text : NULL;
    directory = file.directory;
  }
  return true;
}

/* ---- one value: the job's own, else the file's, else a rule */

static bool is_own(const Job *job, int32_t field) {
  return job->set[field] && job->origin[field].kind >= ORIGIN_BASE;
}

static int64_t settle(Job *job, int32_t field, const Facts *facts, int32_t fact, int64_t otherwise,
                      const char *rule) {
  int64_t *value = field_at(job, field);
  if (is_own(job, field)) return *value;
  job->set[field] = true;
  *value = facts->is_known[fact] ? (int64_t)facts->number[fact] : otherwise;
  job->origin[field] = facts->is_known[fact] ? (Origin){ORIGIN_PRESET, facts->span[fact], NULL}
                                             : (Origin){ORIGIN_DERIVED, {0}, rule};
  return *value;
}

static double settle_rate(Job *job, int32_t field, const Facts *facts, int32_t fact) {
  double *value = field_at(job, field);
  if (is_own(job, field)) return *value;
  job->set[field] = facts->is_known[fact];
  *value = facts->is_known[fact] ? facts->number[fact] : 0;
  job->origin[field] = facts->is_known[fact] ? (Origin){ORIGIN_PRESET, facts->span[fact], NULL}
                                             : (Origin){ORIGIN_DERIVED, {0}, "not known"};
  return *value;
}

static int64_t settle_latency(Job *job, int32_t field, const Facts *facts, int32_t fact) {
  Amount *value = field_at(job, field);
  if (is_own(job, field)) return (int64_t)value->value;
  job->set[field] = facts->is_known[fact];
  *value = (Amount){facts->is_known[fact] ? facts->number[fact] : 0, UNIT_NANOSECONDS};
  job->origin[field] = facts->is_known[fact] ? (Origin){ORIGIN_PRESET, facts->span[fact], NULL}
                                             : (Origin){ORIGIN_DERIVED, {0}, "not known"};
  return (int64_t)value->value;
}

static void settle_device(Job *job, const Facts *facts) {
  if (is_own(job, FIELD_cluster_device)) return;
  job->set[FIELD_cluster_device] = true;
  job->cluster.device = facts->device ? facts->device : "cpu";
  job->origin[FIELD_cluster_device] =
      facts->device ? (Origin){ORIGIN_PRESET, facts->device_span, NULL}
                    : (Origin){ORIGIN_DERIVED, {0}, "this machine's processor"};
}

static double fact_of(const Facts *facts, int32_t fact) {
  return facts->is_known[fact] ? facts->number[fact] : 0;
}

static bool check_device(Compile *c, const Job *job, const Cluster *cluster, bool is_cpu) {
  if (is_cpu || job->precision.param != CHOICE_BF16 || cluster->flops_bf16 > 0) return true;
  Span at = job->precision.head_origin.span;
  if (!at.file) at = job->cluster.head_origin.span;
  error_at(c, at, "device-precision", "%s has no bf16 arithmetic", cluster->device);
  fix_last(c, "precision = \"fp32\"");
  return false;
}

/* Memory of one rank: the job's, the cluster file's, the device's, or its share of this machine. */
static void settle_memory(Compile *c, Job *job, const Machine *machine, const Facts *facts,
                          const Facts *device, int64_t sharers, Cluster *cluster) {
  int64_t machine_bytes = machine ? machine->memory_bytes : (int64_t)8 << 30;
  int64_t otherwise = machine_bytes / sharers;
  const char *rule = arena_printf(c->arena, "this machine's %s / %lld ranks",
                                  format_bytes(c->arena, machine_bytes), (long long)sharers);
  Facts merged = *facts;
  if (!merged.is_known[CLUSTER_MEMORY] && device->is_known[DEVICE_MEMORY]) {
    merged.is_known[CLUSTER_MEMORY] = true;
    merged.number[CLUSTER_MEMORY] = device->number[DEVICE_MEMORY];
    merged.span[CLUSTER_MEMORY] = device->span[DEVICE_MEMORY];
  }
  cluster->memory_bytes =
      settle(job, FIELD_cluster_memory, &merged, CLUSTER_MEMORY, otherwise, rule);
  cluster->reserve_bytes =
      device->is_known[DEVICE_RESERVE]
          ? (int64_t)device->number[DEVICE_RESERVE]
          : cluster->memory_bytes / 8; /* the program, its threads, the system */
}

bool spec_cluster(Compile *c, Job *job, const Machine *machine, Cluster *cluster) {
  *cluster = (Cluster){.name = job->cluster.head_text};
  Facts facts = {0}, device = {0};
  Span at = job->cluster.head_origin.span;
  if (!at.file) at = (Span){.file = job->path};
  bool is_here = strcmp(job->cluster.head_text, "here") == 0;
  lua_State *L = sandbox_open(c);
  const char *folder = job->directory;
  bool is_good =
      is_here || read_facts(c, L, "clusters", job->cluster.head_text, folder, at, &facts);
  if (is_good) {
    settle_device(job, &facts);
    cluster->device = job->cluster.device;
    Span device_at = job->origin[FIELD_cluster_device].span;
    bool is_cpu = strcmp(cluster->device, "cpu") == 0;
    cluster->target = is_cpu ? TARGET_CPU : TARGET_CUDA;
    is_good = is_cpu || read_facts(c, L, "devices", cluster->device, ".",
                                   device_at.file ? device_at : at, &device);
    cluster->nodes = settle(job, FIELD_cluster_nodes, &facts, CLUSTER_NODES, 1, "one machine");
    cluster->devices =
        settle(job, FIELD_cluster_devices, &facts, CLUSTER_DEVICES, 1, "one rank a machine");
    /* Nodes of "here" stand for nodes, but all of their ranks are threads of this machine. */
    int64_t sharers = cluster->devices * (is_here ? cluster->nodes : 1);
    settle_memory(c, job, machine, &facts, &device, sharers, cluster);
    int64_t cores = settle(job, FIELD_cluster_cores, &facts, CLUSTER_CORES,
                           is_here && machine ? machine->cores : 1,
                           is_here ? "this machine's" : "not known: 1");
    cluster->threads = is_cpu && cores > sharers ? cores / sharers : 1;
    cluster->flops_fp32 = fact_of(&device, DEVICE_FP32);
    cluster->flops_bf16 = fact_of(&device, DEVICE_BF16);
    cluster->memory_bytes_per_s = fact_of(&device, DEVICE_BANDWIDTH);
    cluster->intra_bytes_per_s = settle_rate(job, FIELD_cluster_intra, &facts, CLUSTER_INTRA);
    cluster->inter_bytes_per_s = settle_rate(job, FIELD_cluster_inter, &facts, CLUSTER_INTER);
    cluster->intra_latency_ns =
        settle_latency(job, FIELD_cluster_intra_latency, &facts, CLUSTER_INTRA_LATENCY);
    cluster->inter_latency_ns =
        settle_latency(job, FIELD_cluster_inter_latency, &facts, CLUSTER_INTER_LATENCY);
    is_good = is_good && check_device(c, job, cluster, is_cpu);
  }
  sandbox_close(L);
  return is_good;
}
