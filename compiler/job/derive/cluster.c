/* cluster.c -- resolves cluster = { "dgx-h100", nodes = 2 } to what each rank has. Files of
 * specs/clusters and specs/devices are plain tables; a cluster file may begin with another
 * cluster's name. */
#include <math.h>
#include <string.h>

#include "compiler/job/derive/cluster_file.h"

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
  job->cluster.device = facts->text[FACT_DEVICE] ? facts->text[FACT_DEVICE] : "cpu";
  job->origin[FIELD_cluster_device] =
      facts->text[FACT_DEVICE] ? (Origin){ORIGIN_PRESET, facts->text_span[FACT_DEVICE], NULL}
                               : (Origin){ORIGIN_DERIVED, {0}, "this machine's processor"};
}

/* ---- GPUs of this machine, which ranks of "here" have */

/* Why the job leaves them alone though they are there; NULL: it takes them. */
static const char *without_gpus(Compile *c, const Job *job, const Machine *machine) {
  if (machine->gpu_unused) return machine->gpu_unused;
  if (is_own(job, FIELD_cluster_devices) && job->cluster.devices > machine->gpus)
    return arena_printf(c->arena, "there %s %lld, and the job wants %lld ranks",
                        machine->gpus == 1 ? "is" : "are", (long long)machine->gpus,
                        (long long)job->cluster.devices);
  return NULL;
}

/* A job that names a device, cores or several nodes has said where it runs. */
static bool takes_gpus(Compile *c, const Job *job, const Machine *machine) {
  bool is_said = is_own(job, FIELD_cluster_device) || is_own(job, FIELD_cluster_cores) ||
                 (is_own(job, FIELD_cluster_nodes) && job->cluster.nodes > 1);
  bool has_any = machine && (machine->gpus > 0 || machine->gpu_unused);
  if (strcmp(job->cluster.head_text, "here") != 0 || !has_any || is_said) return false;
  const char *why = without_gpus(c, job, machine);
  if (why == NULL) return true;
  Span at = job->cluster.head_origin.span;
  if (!at.file) at = (Span){.file = job->path};
  lint_at(c, at, "gpu-unused", "ranks run on processors, not on this machine's GPUs: %s", why);
  fix_last(c, "cluster = { \"here\", device = \"cpu\" }");
  return false;
}

/* The device of the library that they are; where it has none, NVML's words, whose numbers do. */
static bool settle_gpus(Compile *c, lua_State *L, Job *job, const Machine *machine, Facts *device) {
  const char *row = facts_device_of(c, L, machine->gpu);
  job->set[FIELD_cluster_device] = true;
  job->cluster.device = row ? row : machine->gpu;
  job->origin[FIELD_cluster_device] =
      (Origin){ORIGIN_DERIVED, {0}, arena_printf(c->arena, "this machine has %s", machine->gpu)};
  if (row && !facts_read(c, L, "devices", row, ".", (Span){.file = job->path}, device))
    return false;
  if (!row) device->is_known[DEVICE_RATES + RATE_FP32] = machine->gpu_fp32 > 0;
  if (!row) device->number[DEVICE_RATES + RATE_FP32] = machine->gpu_fp32;
  device->is_known[DEVICE_MEMORY] = false; /* NVML tells their memory */
  return true;
}

static double fact_of(const Facts *facts, int32_t fact) {
  return facts->is_known[fact] ? facts->number[fact] : 0;
}

/* Defaults for GPUs whose files lack these numbers. Products: the median of 13 of NVIDIA's that
 * were measured (stas00/ml-engineering at 744d01e18b79, compute/accelerator: 0.72 to 0.87). Copies,
 * attention and the time between kernels: an H100 80GB, docs/measurements/expected.md. Links:
 * NVLink as NCCL's tuning model counts it, 20 of 25 GB/s of a link (src/graph/topo.h); networks as
 * NCCL reports a DGX A100's, 192 of 200 GB/s of a node. */
static const Sustained usual_gpu = {.product = 0.80,
                                    .attention = 0.84,
                                    .attention_backward = 0.66,
                                    .copy = 0.90,
                                    .intra = 0.80,
                                    .inter = 0.96,
                                    .kernel_ns = 1500};
static const Sustained all_of_it = {
    .product = 1, .attention = 1, .attention_backward = 1, .copy = 1, .intra = 1, .inter = 1};

static void settle_share(double *share, const Facts *facts, int32_t fact, double whole) {
  if (facts->is_known[fact] && whole > 0) *share = facts->number[fact] / whole;
}

/* The rates of processors come from their files, where they are measured ones. */
static Sustained sustained_of(const Facts *facts, const Facts *device, bool is_gpu) {
  Sustained all = is_gpu ? usual_gpu : all_of_it;
  const double peak = fact_of(
      device, DEVICE_RATES + (device->is_known[DEVICE_RATES + RATE_BF16] ? RATE_BF16 : RATE_FP16));
  settle_share(&all.product, device, DEVICE_PRODUCT, peak);
  settle_share(&all.attention, device, DEVICE_ATTENTION, peak);
  settle_share(&all.attention_backward, device, DEVICE_ATTENTION_BACKWARD, peak);
  settle_share(&all.copy, device, DEVICE_COPY, fact_of(device, DEVICE_BANDWIDTH));
  settle_share(&all.intra, facts, CLUSTER_INTRA_RING, fact_of(facts, CLUSTER_INTRA));
  settle_share(&all.inter, facts, CLUSTER_INTER_RING, fact_of(facts, CLUSTER_INTER));
  settle_share(&all.switch_sums, device, DEVICE_SWITCH_SUMS,
               fact_of(facts, CLUSTER_INTRA) * all.intra);
  all.switch_sums = fmin(all.switch_sums, 1);
  all.power_w = fact_of(device, DEVICE_POWER);
  all.multiprocessors = (int64_t)fact_of(device, DEVICE_MULTIPROCESSORS);
  if (device->is_known[DEVICE_KERNEL]) all.kernel_ns = (int64_t)fact_of(device, DEVICE_KERNEL);
  return all;
}

double cluster_flops(const Cluster *cluster, Rate rate) {
  bool is_fp32 = cluster->target == TARGET_CPU && (rate == RATE_FP16 || rate == RATE_TF32);
  if (cluster->target == TARGET_CPU && rate == RATE_FP8) rate = RATE_BF16; /* decoded */
  return cluster->flops[is_fp32 ? RATE_FP32 : rate];
}

/* The fix is the fastest that the device has. */
static bool check_device(Compile *c, const Job *job, const Cluster *cluster) {
  const int32_t compute = job->precision.compute;
  bool is_said = field_is_said(job, FIELD_precision_compute);
  if (cluster->target != TARGET_CPU && job->precision.linear == CHOICE_LINEAR_FP8 &&
      cluster->flops[RATE_FP8] == 0) {
    error_at(c, field_place(job, FIELD_precision_linear), "device-precision",
             "%s has no fp8 arithmetic", cluster->device);
    fix_last(c, "linear = \"compute\"");
    return false;
  }
  if (cluster->target == TARGET_CPU || compute == CHOICE_FP32 || cluster->flops[compute] > 0)
    return true;
  Span at = is_said ? field_place(job, FIELD_precision_compute) : job->precision.head_origin.span;
  if (!at.file) at = job->cluster.head_origin.span;
  const char *words = spec_fields[FIELD_precision_compute].values;
  int32_t best = CHOICE_FP32;
  for (int32_t word = 0; *word_at(c->arena, words, word) != '\0'; word++)
    if (cluster->flops[word] > cluster->flops[best]) best = word;
  error_at(c, at, "device-precision", "%s has no %s arithmetic", cluster->device,
           word_at(c->arena, words, compute));
  fix_last(c, "%s = \"%s\"", is_said ? "compute" : "precision", word_at(c->arena, words, best));
  return false;
}

static int64_t said_reserve(const Facts *device) {
  return device->is_known[DEVICE_RESERVE] ? (int64_t)device->number[DEVICE_RESERVE] : -1;
}

/* A device that keeps all of its memory has none for ranks. False when reported. */
static bool check_reserve(Compile *c, const Facts *device, int64_t memory_bytes) {
  enum { USUAL_BYTES = 1200000000 };
  const int64_t reserve_bytes = said_reserve(device);
  if (reserve_bytes < memory_bytes) return true;
  error_at(c, device->span[DEVICE_RESERVE], "range",
           "reserve: %s of the %s of a device leave a rank no memory",
           format_bytes(c->arena, reserve_bytes), format_bytes(c->arena, memory_bytes));
  fix_last(c, "reserve = \"%s\"", memory_bytes > USUAL_BYTES ? "1.2GB" : "0GB");
  return false;
}

/* Memory of one rank: the job's, the cluster file's, the device's, or its share of this machine. */
static void settle_memory(Compile *c, Job *job, const Machine *machine, const Facts *facts,
                          const Facts *device, int64_t sharers, bool by_gpus, Cluster *cluster) {
  int64_t machine_bytes = machine ? machine->memory_bytes : (int64_t)8 << 30;
  int64_t otherwise = by_gpus ? machine->gpu_memory_bytes : machine_bytes / sharers;
  const char *rule = by_gpus ? "this machine's GPU, by NVML"
                             : arena_printf(c->arena, "this machine's %s / %lld rank%s",
                                            format_bytes(c->arena, machine_bytes),
                                            (long long)sharers, plural(sharers));
  Facts merged = *facts;
  if (!merged.is_known[CLUSTER_MEMORY] && device->is_known[DEVICE_MEMORY]) {
    merged.is_known[CLUSTER_MEMORY] = true;
    merged.number[CLUSTER_MEMORY] = device->number[DEVICE_MEMORY];
    merged.span[CLUSTER_MEMORY] = device->span[DEVICE_MEMORY];
  }
  cluster->memory_bytes =
      settle(job, FIELD_cluster_memory, &merged, CLUSTER_MEMORY, otherwise, rule);
  if (cluster->target == TARGET_CUDA) (void)check_reserve(c, device, cluster->memory_bytes);
  cluster->reserve_bytes = cluster->target == TARGET_CUDA
                               ? said_reserve(device)
                               : cluster->memory_bytes / 8; /* program, its threads, the system */
}

/* The size and bandwidth of host memory in a node, and each device's share of both. */
static void settle_host(Job *job, const Machine *machine, const Facts *facts, const Facts *device,
                        bool is_here, Cluster *cluster) {
  if (is_here && machine)
    cluster->host_bytes = settle(job, FIELD_cluster_host, facts, CLUSTER_HOST,
                                 machine->memory_bytes, "this machine's memory");
  else if (facts->is_known[CLUSTER_HOST] || is_own(job, FIELD_cluster_host))
    cluster->host_bytes = settle(job, FIELD_cluster_host, facts, CLUSTER_HOST, 0, "");
  else
    job->origin[FIELD_cluster_host] = (Origin){ORIGIN_DERIVED, {0}, "not known"};
  Facts merged = *facts;
  cluster->is_link_device =
      !merged.is_known[CLUSTER_HOST_LINK] && !is_own(job, FIELD_cluster_host_link);
  if (!merged.is_known[CLUSTER_HOST_LINK] && device->is_known[DEVICE_HOST_LINK]) {
    merged.is_known[CLUSTER_HOST_LINK] = true;
    merged.number[CLUSTER_HOST_LINK] = device->number[DEVICE_HOST_LINK];
    merged.span[CLUSTER_HOST_LINK] = device->span[DEVICE_HOST_LINK];
  }
  cluster->host_link_bytes_per_s =
      settle_rate(job, FIELD_cluster_host_link, &merged, CLUSTER_HOST_LINK);
  cluster->host_bytes_per_s =
      settle_rate(job, FIELD_cluster_host_bandwidth, facts, CLUSTER_HOST_BANDWIDTH);
  if (facts->is_known[CLUSTER_DISK] || is_own(job, FIELD_cluster_disk))
    cluster->disk_bytes = settle(job, FIELD_cluster_disk, facts, CLUSTER_DISK, 0, "");
  else
    job->origin[FIELD_cluster_disk] = (Origin){ORIGIN_DERIVED, {0}, "not known"};
  cluster->disk_read_bytes_per_s =
      settle_rate(job, FIELD_cluster_disk_read, facts, CLUSTER_DISK_READ);
  cluster->disk_write_bytes_per_s =
      settle_rate(job, FIELD_cluster_disk_write, facts, CLUSTER_DISK_WRITE);
}

/* ---- types of nodes */

static const int32_t text_fields[] = {[FACT_HWLOC] = FIELD_cluster_hwloc,
                                      [FACT_NCCL_TOPO] = FIELD_cluster_nccl_topo,
                                      [FACT_SWITCHES] = FIELD_cluster_switches,
                                      [FACT_DRAINED] = FIELD_cluster_drained};

/* The job's text, else the files'; NULL: neither has one. */
static const char *settle_text(Job *job, const Facts *facts, int32_t fact, Span *at) {
  int32_t field = text_fields[fact];
  const char **value = field_at(job, field);
  if (is_own(job, field)) {
    *at = job->origin[field].span;
    return job->set[field] ? *value : NULL;
  }
  if (!facts->text[fact]) return NULL;
  job->set[field] = true;
  *value = facts->text[fact];
  job->origin[field] = (Origin){ORIGIN_PRESET, facts->text_span[fact], NULL};
  *at = facts->text_span[fact];
  return *value;
}

/* Nobody knows it: the word remains unset. */
static void settle_word(Job *job, int32_t field, const char *text, Span at) {
  if (is_own(job, field)) return;
  job->set[field] = text != NULL;
  *(int32_t *)field_at(job, field) = text ? word_index(spec_fields[field].values, text) : 0;
  job->origin[field] =
      text ? (Origin){ORIGIN_PRESET, at, NULL} : (Origin){ORIGIN_DERIVED, {0}, "not known"};
}

/* A file with types that names no network has the one on which all types agree. */
static void join_networks(Job *job, const Cluster *cluster) {
  const ClusterType *first = &cluster->types[0];
  bool is_same = first->network != NULL && !job->set[FIELD_cluster_network];
  for (int32_t i = 1; i < cluster->type_count && is_same; i++)
    is_same = cluster->types[i].network && strcmp(cluster->types[i].network, first->network) == 0;
  if (is_same) settle_word(job, FIELD_cluster_network, first->network, first->network_at);
}

/* True if a rate is stated nearer to the job than, or beside, the files that describe the node. */
static bool is_nearer(const Job *job, int32_t field, const Facts *facts, int32_t fact) {
  if (is_own(job, field)) return true;
  if (!facts->is_known[fact] || is_own(job, FIELD_cluster_hwloc) ||
      is_own(job, FIELD_cluster_nccl_topo))
    return false;
  for (int32_t text = FACT_HWLOC; text <= FACT_NCCL_TOPO; text++)
    if (facts->text[text] && facts->text_depth[text] < facts->depth[fact]) return false;
  return true;
}

static ClusterType type_of_job(Job *job, const Facts *facts, const Cluster *cluster) {
  ClusterType type = {.name = cluster->name, .nodes = cluster->nodes, .devices = cluster->devices};
  type.intra_bytes_per_s = settle_rate(job, FIELD_cluster_intra, facts, CLUSTER_INTRA);
  type.inter_bytes_per_s = settle_rate(job, FIELD_cluster_inter, facts, CLUSTER_INTER);
  type.is_intra_nearer = is_nearer(job, FIELD_cluster_intra, facts, CLUSTER_INTRA);
  type.is_inter_nearer = is_nearer(job, FIELD_cluster_inter, facts, CLUSTER_INTER);
  type.hwloc = settle_text(job, facts, FACT_HWLOC, &type.hwloc_at);
  type.nccl_topo = settle_text(job, facts, FACT_NCCL_TOPO, &type.nccl_topo_at);
  return type;
}

/* The job cannot set these keys, because types of nodes differ in them. */
static bool refuse_beside_types(Compile *c, const Job *job) {
  static const int32_t fields[] = {
      FIELD_cluster_nodes,          FIELD_cluster_devices,    FIELD_cluster_device,
      FIELD_cluster_memory,         FIELD_cluster_intra,      FIELD_cluster_inter,
      FIELD_cluster_hwloc,          FIELD_cluster_nccl_topo,  FIELD_cluster_host,
      FIELD_cluster_host_bandwidth, FIELD_cluster_host_link,  FIELD_cluster_disk,
      FIELD_cluster_disk_read,      FIELD_cluster_disk_write, FIELD_cluster_calibration};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    if (is_own(job, fields[i])) {
      error_at(c, job->origin[fields[i]].span, "conflict",
               "%s: %s has types of nodes, and each says its own", field_name(c->arena, fields[i]),
               job->cluster.head_text);
      fix_last(c, "remove it, and say it in %s", job->cluster.head_text);
      return false;
    }
  return true;
}

static double least(double a, double b) {
  return a == 0 || (b > 0 && b < a) ? b : a;
}

/* The slowest device and the smallest memory count: a step waits for all ranks. */
static bool join_device(Compile *c, Cluster *cluster, const Facts *type, const Facts *device,
                        Span at) {
  const char *name = type->text[FACT_DEVICE];
  if (!name || strcmp(name, "cpu") == 0 || device->is_known[DEVICE_CORES]) {
    error_at(c, at, "wrong-type", "types: each names its GPU, from specs/devices");
    fix_last(c, "device = \"h100-sxm\"");
    return false;
  }
  bool is_first = cluster->device == NULL;
  cluster->device = is_first || strcmp(cluster->device, name) == 0
                        ? name
                        : arena_printf(c->arena, "%s, %s", cluster->device, name);
  double memory =
      type->is_known[CLUSTER_MEMORY] ? type->number[CLUSTER_MEMORY] : device->number[DEVICE_MEMORY];
  cluster->memory_bytes = (int64_t)least((double)cluster->memory_bytes, memory);
  for (int32_t rate = 0; rate < RATES; rate++) { /* a rate that one type lacks is unknown for all */
    double flops = fact_of(device, DEVICE_RATES + rate);
    cluster->flops[rate] = is_first || flops < cluster->flops[rate] ? flops : cluster->flops[rate];
  }
  cluster->memory_bytes_per_s =
      least(cluster->memory_bytes_per_s, fact_of(device, DEVICE_BANDWIDTH));
  const int64_t host_bytes = (int64_t)fact_of(type, CLUSTER_HOST); /* 0: nobody knows the least */
  if (is_first || host_bytes < cluster->host_bytes) cluster->host_bytes = host_bytes;
  cluster->host_bytes_per_s =
      least(cluster->host_bytes_per_s, fact_of(type, CLUSTER_HOST_BANDWIDTH));
  cluster->disk_bytes = (int64_t)least((double)cluster->disk_bytes, fact_of(type, CLUSTER_DISK));
  cluster->disk_read_bytes_per_s =
      least(cluster->disk_read_bytes_per_s, fact_of(type, CLUSTER_DISK_READ));
  cluster->disk_write_bytes_per_s =
      least(cluster->disk_write_bytes_per_s, fact_of(type, CLUSTER_DISK_WRITE));
  cluster->host_link_bytes_per_s =
      least(cluster->host_link_bytes_per_s, type->is_known[CLUSTER_HOST_LINK]
                                                ? type->number[CLUSTER_HOST_LINK]
                                                : fact_of(device, DEVICE_HOST_LINK));
  const int64_t reserve = said_reserve(device);
  const bool is_less = is_first || reserve < 0 || reserve > cluster->reserve_bytes;
  if (is_less && (is_first || cluster->reserve_bytes >= 0)) cluster->reserve_bytes = reserve;
  return check_reserve(c, device, (int64_t)memory);
}

static bool add_type(Compile *c, lua_State *L, const Facts *facts, int32_t number, Cluster *cluster,
                     ClusterType *type) {
  Facts own = {0}, device = {0};
  const SpecFile *file = facts->types_file;
  Span at = span_of_value(file->spans, arena_printf(c->arena, "types.%d", number + 1));
  if (!facts_read_type(c, L, facts, number, &own)) return false;
  const char *name = own.text[FACT_DEVICE];
  if (name && strcmp(name, "cpu") != 0 &&
      !facts_read(c, L, "devices", name, ".", own.text_span[FACT_DEVICE], &device))
    return false;
  if (!join_device(c, cluster, &own, &device, at)) return false;
  const Raw *raw = facts->types->list.at[number];
  bool has_base = raw->list.count > 0 && raw->list.at[0]->kind == RAW_TEXT;
  *type = (ClusterType){.name = has_base ? raw->list.at[0]->text
                                         : arena_printf(c->arena, "type %d", number + 1),
                        .nodes = (int64_t)fact_of(&own, CLUSTER_NODES),
                        .devices = (int64_t)fact_of(&own, CLUSTER_DEVICES),
                        .intra_bytes_per_s = fact_of(&own, CLUSTER_INTRA),
                        .inter_bytes_per_s = fact_of(&own, CLUSTER_INTER),
                        .hwloc = own.text[FACT_HWLOC],
                        .nccl_topo = own.text[FACT_NCCL_TOPO],
                        .hosts = own.text[FACT_HOSTS],
                        .network = own.text[FACT_NETWORK],
                        .hwloc_at = own.text_span[FACT_HWLOC],
                        .nccl_topo_at = own.text_span[FACT_NCCL_TOPO],
                        .hosts_at = own.text_span[FACT_HOSTS],
                        .network_at = own.text_span[FACT_NETWORK]};
  Job none = {0};
  type->is_intra_nearer = is_nearer(&none, FIELD_cluster_intra, &own, CLUSTER_INTRA);
  type->is_inter_nearer = is_nearer(&none, FIELD_cluster_inter, &own, CLUSTER_INTER);
  bool is_open = type->devices == 0 && !type->hwloc && !type->nccl_topo;
  if (type->nodes == 0 && !type->hosts) type->nodes = 1;
  if (!is_open) return true;
  error_at(c, at, "missing-key", "types: devices, or a file that describes a node");
  fix_last(c, "devices = 8");
  return false;
}

static void settle_number(Job *job, int32_t field, int64_t value, Origin origin) {
  *(int64_t *)field_at(job, field) = value;
  job->set[field] = true;
  job->origin[field] = origin;
}

void spec_order(Job *job, const char *order) {
  if (job->set[FIELD_parallel_order]) return;
  job->set[FIELD_parallel_order] = true;
  job->parallel.order = order;
  job->origin[FIELD_parallel_order] =
      (Origin){ORIGIN_DERIVED, {0}, "communicates for the least time"};
}

/* Cores that the job and the cluster leave open are those of the node's description. */
static void settle_cores(Job *job, Cluster *cluster, Origin derived) {
  bool is_open = job->origin[FIELD_cluster_cores].kind == ORIGIN_DERIVED &&
                 strcmp(job->cluster.head_text, "here") != 0;
  if (cluster->cores_described == 0 || !is_open) return;
  settle_number(job, FIELD_cluster_cores, cluster->cores_described, derived);
  double before = (double)cluster->threads;
  cluster->threads = cluster->cores_described / cluster->devices;
  for (int32_t rate = 0; rate < RATES; rate++)
    cluster->flops[rate] *= (double)cluster->threads / before;
  cluster->memory_bytes_per_s *= (double)cluster->threads / before;
}

void spec_cluster_counts(Job *job, Cluster *cluster) {
  const Origin derived = {ORIGIN_DERIVED, {0}, "what the cluster's files describe"};
  settle_cores(job, cluster, derived);
  if (job->cluster.nodes != cluster->nodes)
    settle_number(job, FIELD_cluster_nodes, cluster->nodes, derived);
  if (job->cluster.devices != cluster->devices)
    settle_number(job, FIELD_cluster_devices, cluster->devices, derived);
}

static bool read_all_types(Compile *c, lua_State *L, Job *job, const Facts *facts,
                           Cluster *cluster) {
  if (!refuse_beside_types(c, job)) return false;
  int32_t count = facts->types->list.count;
  ClusterType *types = ARENA_ARRAY(c->arena, ClusterType, count);
  for (int32_t i = 0; i < count; i++)
    if (!add_type(c, L, facts, i, cluster, &types[i])) return false;
  cluster->types = types;
  cluster->type_count = count;
  join_networks(job, cluster);
  cluster->target = TARGET_CUDA;
  cluster->sustained = usual_gpu;
  cluster->threads = 1;
  cluster->is_device_said = true;
  if (!check_device(c, job, cluster)) return false;
  job->cluster.device = cluster->device;
  job->set[FIELD_cluster_device] = true;
  Span at = span_of_value(facts->types_file->spans, "types");
  job->origin[FIELD_cluster_device] = (Origin){ORIGIN_PRESET, at, NULL};
  const Origin least_of_types = {ORIGIN_DERIVED, {0}, "the least of its types"};
  settle_number(job, FIELD_cluster_memory, cluster->memory_bytes, least_of_types);
  if (cluster->host_bytes > 0)
    settle_number(job, FIELD_cluster_host, cluster->host_bytes, least_of_types);
  return true;
}

/* ---- one type: the job's keys change it */

static void settle_counts(Job *job, const Facts *facts, bool is_open, int64_t gpus,
                          Cluster *cluster) {
  bool is_file = facts->is_known[CLUSTER_NODES] && !is_own(job, FIELD_cluster_switches) &&
                 facts->text_depth[FACT_SWITCHES] >= facts->depth[CLUSTER_NODES];
  /* the hosts tell the switches, not a preset */
  bool has_switches = cluster->switches != NULL && !is_file;
  Facts own = *facts;
  own.is_known[CLUSTER_NODES] &= !has_switches;
  cluster->nodes = settle(job, FIELD_cluster_nodes, &own, CLUSTER_NODES, has_switches ? 0 : 1,
                          has_switches ? "hosts of switches" : "one machine");
  cluster->devices = settle(job, FIELD_cluster_devices, facts, CLUSTER_DEVICES,
                            is_open    ? 0
                            : gpus > 0 ? gpus
                                       : 1,
                            is_open    ? "devices of the description"
                            : gpus > 0 ? "this machine's GPUs"
                                       : "one rank a machine");
  cluster->devices_at = job->origin[FIELD_cluster_devices].span;
}

/* Rates of all cores are divided among the ranks of a node. */
static void take_measured(Cluster *cluster, double sharers) {
  MeasuredRates *m = &cluster->measured;
  double *const shared[] = {
      &m->product_fp32, &m->product_bf16, &m->attention, &m->attention_backward,
      &m->norm,         &m->activation,   &m->loss,      &m->update,
      &m->memory};
  for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
    *shared[i] /= sharers;
  cluster->flops[RATE_FP32] = m->product_fp32;
  cluster->flops[RATE_BF16] = m->product_bf16 > 0 ? m->product_bf16 : m->product_fp32;
  if (m->memory > 0) cluster->memory_bytes_per_s = m->memory;
  if (m->records > 0) cluster->sustained.kernel_ns = (int64_t)(1e9 / m->records + 0.5);
  cluster->measured.is_taken = true;
}

static bool read_one_type(Compile *c, lua_State *L, Job *job, const Machine *machine, Facts *facts,
                          Cluster *cluster) {
  bool is_here = strcmp(job->cluster.head_text, "here") == 0;
  Facts device = {0};
  cluster->is_device_said = is_own(job, FIELD_cluster_device) || facts->text[FACT_DEVICE];
  bool by_gpus = takes_gpus(c, job, machine);
  if (!by_gpus) settle_device(job, facts);
  if (by_gpus && !settle_gpus(c, L, job, machine, &device)) return false;
  cluster->device = job->cluster.device;
  Span device_at = job->origin[FIELD_cluster_device].span;
  bool is_plain = strcmp(cluster->device, "cpu") == 0;
  if (!is_plain && !by_gpus &&
      !facts_read(c, L, "devices", cluster->device, ".", device_at.file ? device_at : cluster->at,
                  &device))
    return false;
  bool is_cpu = is_plain || device.is_known[DEVICE_CORES];
  cluster->target = is_cpu ? TARGET_CPU : TARGET_CUDA;
  if (!calibration_take(c, job, is_here ? machine : NULL, device.gpu, facts, cluster)) return false;
  if (is_cpu) /* measured messages are of it */
    cluster->intra_latency_ns =
        settle_latency(job, FIELD_cluster_intra_latency, facts, CLUSTER_INTRA_LATENCY);
  ClusterType *type = ARENA_NEW(c->arena, ClusterType);
  *type = type_of_job(job, facts, cluster);
  settle_counts(job, facts, !is_cpu && (type->hwloc || type->nccl_topo),
                by_gpus ? machine->gpus : 0, cluster);
  if (is_here && cluster->nodes == 0) {
    error_at(
        c, cluster->switches_at, "conflict",
        "cluster.switches: all nodes of \"here\" are on this machine, and the network does not say "
        "how many they are: set cluster.nodes");
    fix_last(c, "nodes = 2");
    return false;
  }
  type->nodes = cluster->nodes;
  type->devices = cluster->devices;
  cluster->types = type;
  cluster->type_count = 1;
  /* Nodes of "here" are simulated: all ranks of the cluster are threads of this machine. */
  int64_t sharers = cluster->devices * (is_here ? cluster->nodes : 1);
  settle_memory(c, job, machine, facts, &device, sharers > 0 ? sharers : 1, by_gpus, cluster);
  settle_host(job, machine, facts, &device, is_here, cluster);
  int64_t cores =
      settle(job, FIELD_cluster_cores, facts, CLUSTER_CORES,
             is_here && machine ? machine->cores : 1, is_here ? "this machine's" : "not known: 1");
  cluster->threads = is_cpu && cores > sharers ? cores / sharers : 1;
  double share =
      device.is_known[DEVICE_CORES] ? (double)cluster->threads / device.number[DEVICE_CORES] : 1;
  for (int32_t rate = 0; rate < RATES; rate++)
    cluster->flops[rate] = fact_of(&device, DEVICE_RATES + rate) * share;
  cluster->memory_bytes_per_s = fact_of(&device, DEVICE_BANDWIDTH) * share;
  cluster->sustained = sustained_of(facts, &device, !is_cpu);
  if (job->train.deterministic) cluster->sustained.switch_sums = 0;
  if (is_cpu && cluster->measured.product_fp32 > 0)
    take_measured(cluster, sharers > 0 ? (double)sharers : 1);
  bool is_listed = !by_gpus || device.gpu != NULL;
  return !is_listed || check_device(c, job, cluster);
}

static void settle_network(Job *job, const Facts *facts, Cluster *cluster) {
  cluster->switches = settle_text(job, facts, FACT_SWITCHES, &cluster->switches_at);
  cluster->drained = settle_text(job, facts, FACT_DRAINED, &cluster->drained_at);
  cluster->intra_latency_ns =
      settle_latency(job, FIELD_cluster_intra_latency, facts, CLUSTER_INTRA_LATENCY);
  cluster->inter_latency_ns =
      settle_latency(job, FIELD_cluster_inter_latency, facts, CLUSTER_INTER_LATENCY);
  cluster->block = settle(job, FIELD_cluster_block, facts, CLUSTER_BLOCK, 1, "none");
  cluster->taper = settle(job, FIELD_cluster_taper, facts, CLUSTER_TAPER, 1, "none");
  settle_word(job, FIELD_cluster_network, facts->text[FACT_NETWORK],
              facts->text_span[FACT_NETWORK]);
}

bool spec_cluster(Compile *c, Job *job, const Machine *machine, Cluster *cluster) {
  Span at = job->cluster.head_origin.span;
  if (!at.file) at = (Span){.file = job->path};
  *cluster = (Cluster){.name = job->cluster.head_text, .at = at};
  Facts facts = {0};
  bool is_here = strcmp(job->cluster.head_text, "here") == 0;
  lua_State *L = sandbox_open(c);
  bool is_good =
      is_here || facts_read(c, L, "clusters", job->cluster.head_text, job->directory, at, &facts);
  if (is_good) settle_network(job, &facts, cluster);
  if (is_good)
    is_good = facts.types ? read_all_types(c, L, job, &facts, cluster)
                          : read_one_type(c, L, job, machine, &facts, cluster);
  if (is_good) is_good = software_read(c, L, job, cluster);
  sandbox_close(L);
  return is_good;
}
