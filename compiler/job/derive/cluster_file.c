/* cluster_file.c -- files of specs/clusters and specs/devices: plain tables; a cluster file may
 * begin with another cluster's name, and so may each of its types of nodes. */
#include "compiler/job/derive/cluster_file.h"

#include <math.h>
#include <string.h>

#include "compiler/job/units.h"

enum { LONGEST_CHAIN = 8, TYPES_MOST = 16 };

typedef bool Parse(const char *text, double *number);

typedef struct Key {
  const char *name;
  Parse *parse; /* NULL: a whole number */
  const char *example;
} Key;

static const char whole[] = "a whole number from 1 on";
static const Key cluster_keys[] = {
    {"nodes", NULL, whole},
    {"devices", NULL, whole},
    {"cores", NULL, whole},
    {"memory", units_bytes, "\"80GiB\""},
    {"intra", units_rate, "\"450GB/s\""},
    {"inter", units_rate, "\"400Gb/s\""},
    {"intra_latency", units_latency, "\"5us\""},
    {"inter_latency", units_latency, "\"10us\""},
    {"block", NULL, whole},
    {"taper", NULL, whole},
    {"host", units_bytes, "\"2TiB\""},
    {"host_bandwidth", units_rate, "\"600GB/s\""},
    {"host_link", units_rate, "\"64GB/s\""},
    {"disk", units_bytes, "\"30TB\""},
    {"disk_read", units_rate, "\"7GB/s\""},
    {"disk_write", units_rate, "\"5GB/s\""},
    [CLUSTER_INTRA_RING] = {"intra_ring", units_rate, "\"370GB/s\""},
    [CLUSTER_INTER_RING] = {"inter_ring", units_rate, "\"46GB/s\""},
};
static const Key device_keys[] = {
    [DEVICE_MEMORY] = {"memory", units_bytes, "\"80GiB\""},
    [DEVICE_RESERVE] = {"reserve", units_bytes, "\"1.2GB\""},
    [DEVICE_RATES + RATE_FP32] = {"fp32", units_flops, "\"67TFLOP/s\""},
    [DEVICE_RATES + RATE_BF16] = {"bf16", units_flops, "\"989TFLOP/s\""},
    [DEVICE_RATES + RATE_FP16] = {"fp16", units_flops, "\"989TFLOP/s\""},
    [DEVICE_RATES + RATE_TF32] = {"tf32", units_flops, "\"494TFLOP/s\""},
    [DEVICE_RATES + RATE_FP8] = {"fp8", units_flops, "\"1979TFLOP/s\""},
    [DEVICE_BANDWIDTH] = {"bandwidth", units_rate, "\"3.35TB/s\""},
    [DEVICE_CORES] = {"cores", NULL, whole},
    [DEVICE_HOST_LINK] = {"host_link", units_rate, "\"64GB/s\""},
    [DEVICE_PRODUCT] = {"product", units_flops, "\"730TFLOP/s\""},
    [DEVICE_ATTENTION] = {"attention", units_flops, "\"830TFLOP/s\""},
    [DEVICE_ATTENTION_BACKWARD] = {"attention_backward", units_flops, "\"650TFLOP/s\""},
    [DEVICE_COPY] = {"copy", units_rate, "\"3TB/s\""},
    [DEVICE_MULTIPROCESSORS] = {"multiprocessors", NULL, whole},
    [DEVICE_POWER] = {"power", NULL, whole},
    [DEVICE_SWITCH_SUMS] = {"switch_sums", units_rate, "\"287GB/s\""},
    [DEVICE_KERNEL] = {"kernel", units_latency, "\"1.5us\""},
};
enum {
  CLUSTER_KEYS = sizeof cluster_keys / sizeof *cluster_keys,
  DEVICE_KEYS = sizeof device_keys / sizeof *device_keys
};

_Static_assert((int)DEVICE_NUMBERS <= (int)CLUSTER_NUMBERS, "facts of a device have room");

static const struct {
  const char *name, *expected;
  bool is_path;
} text_keys[FACT_TEXTS] = {
    [FACT_DEVICE] = {"device", "a name of specs/devices or \"cpu\"", false},
    [FACT_HWLOC] = {"hwloc", "a path", true},
    [FACT_NCCL_TOPO] = {"nccl_topo", "a path", true},
    [FACT_SWITCHES] = {"switches", "a path", true},
    [FACT_DRAINED] = {"drained", "hosts: \"node[03-04],node17\"", false},
    [FACT_HOSTS] = {"hosts", "hosts: \"node[01-16]\"", false},
    [FACT_NETWORK] = {"network", "\"infiniband\", \"ethernet\", \"efa\" or \"slingshot\"", false},
};

/* A table of a file: the file's own, or one of its types. */
typedef struct FileTable {
  const SpecFile *file;
  const char *prefix; /* "", "types.1." */
  int32_t depth;
  bool is_cluster;
} FileTable;

static const char *path_of(Compile *c, const FileTable *table, const char *key) {
  return arena_printf(c->arena, "%s%s", table->prefix, key);
}

static void refuse_key(Compile *c, const FileTable *table, const char *key) {
  VEC(const char *) names = {0};
  for (int32_t i = 0; table->is_cluster && i < FACT_TEXTS; i++)
    VEC_PUSH(c->arena, &names, text_keys[i].name);
  if (!table->is_cluster) VEC_PUSH(c->arena, &names, "gpu");
  for (int32_t i = 0; i < (table->is_cluster ? CLUSTER_KEYS : DEVICE_KEYS); i++)
    VEC_PUSH(c->arena, &names, table->is_cluster ? cluster_keys[i].name : device_keys[i].name);
  const char *near = nearest_word(key, names.at, names.count);
  error_at(c, span_of_key(table->file->spans, path_of(c, table, key)), "unknown-key",
           "%s: no such key of this file", text_show(c->arena, key));
  if (near) fix_last(c, "%s", near);
}

/* False when reported. A device may keep no reserve; nothing else is 0. */
static bool is_in_range(Compile *c, Span at, const FileTable *table, const RawEntry *entry,
                        const Key *key, int32_t i, double number) {
  static const double MOST = 1e18;
  const bool may_be_none = !table->is_cluster && i == DEVICE_RESERVE;
  const double least = may_be_none                 ? 0
                       : key->parse == units_rate  ? UNITS_RATE_LEAST
                       : key->parse == units_flops ? UNITS_FLOPS_LEAST
                                                   : 1;
  if (number >= least && number <= MOST) return true;
  error_at(c, at, "range", "%s: %s is too %s", entry->key, raw_show(c->arena, entry->value),
           number > MOST ? "much" : "little");
  return false;
}

static void read_number(Compile *c, const FileTable *table, const RawEntry *entry, const Key *key,
                        int32_t i, Facts *facts) {
  Span at = span_of_value(table->file->spans, path_of(c, table, entry->key));
  double number = entry->value->number;
  bool is_good = key->parse
                     ? entry->value->kind == RAW_TEXT && key->parse(entry->value->text, &number)
                     : entry->value->kind == RAW_NUMBER && number == floor(number) && number >= 1;
  if (!is_good || !is_in_range(c, at, table, entry, key, i, number)) {
    if (!is_good)
      error_at(c, at, "wrong-type", "%s: expected %s; got %s", entry->key, key->example,
               raw_show(c->arena, entry->value));
    fix_last(c, "%s = %s", entry->key, key->parse ? key->example : "1");
    return;
  }
  if (facts->is_known[i]) return;
  facts->number[i] = number;
  facts->is_known[i] = true;
  facts->span[i] = at;
  facts->depth[i] = table->depth;
}

static bool check_network(Compile *c, const char *text, Span at) {
  const char *words = spec_fields[FIELD_cluster_network].values;
  if (word_index(words, text) >= 0) return true;
  const char *near = nearest_of(c->arena, words, text);
  error_at(c, at, "unknown-word", "network: expected %s; got %s", text_keys[FACT_NETWORK].expected,
           text_show(c->arena, text));
  if (near) fix_last(c, "network = \"%s\"", near);
  return false;
}

static void read_text(Compile *c, const FileTable *table, const RawEntry *entry, int32_t i,
                      Facts *facts) {
  Span at = span_of_value(table->file->spans, path_of(c, table, entry->key));
  if (entry->value->kind != RAW_TEXT) {
    error_at(c, at, "wrong-type", "%s: expected %s; got %s", entry->key, text_keys[i].expected,
             raw_show(c->arena, entry->value));
    fix_last(c, "%s = \"...\"", entry->key);
    return;
  }
  const char *text = entry->value->text, *folder = table->file->directory;
  if (text_keys[i].is_path && !path_check(c, text, at)) return;
  if (i == FACT_NETWORK && !check_network(c, text, at)) return;
  if (facts->text[i]) return;
  facts->text[i] = text_keys[i].is_path ? path_join(c->arena, folder, text)
                   : i == FACT_DEVICE   ? path_located(c->arena, folder, text)
                                        : text;
  facts->text_span[i] = at;
  facts->text_depth[i] = table->depth;
}

static void read_gpu(Compile *c, const FileTable *table, const RawEntry *entry, Facts *facts) {
  if (entry->value->kind == RAW_TEXT) {
    facts->gpu = entry->value->text;
    return;
  }
  error_at(c, span_of_value(table->file->spans, "gpu"), "wrong-type",
           "gpu: expected a name as nvidia-smi -L prints it; got %s",
           raw_show(c->arena, entry->value));
  fix_last(c, "gpu = \"NVIDIA H100 80GB HBM3\"");
}

static void read_types(Compile *c, const FileTable *table, const RawEntry *entry, Facts *facts) {
  const Raw *raw = entry->value;
  bool is_list = raw->kind == RAW_TABLE && raw->named.count == 0 && !raw->bad_key &&
                 raw->list.count > 0 && raw->list.count <= TYPES_MOST;
  for (int32_t i = 0; is_list && i < raw->list.count; i++)
    is_list = raw->list.at[i]->kind == RAW_TABLE && !raw->list.at[i]->bad_key;
  if (!is_list) {
    error_at(c, span_of_value(table->file->spans, "types"), "wrong-type",
             "types: expected 1 to %d tables, { { \"dgx-h100\", nodes = 4 }, { ... } }; got %s",
             TYPES_MOST, raw_show(c->arena, raw));
    return;
  }
  if (facts->types) return;
  SpecFile *file = ARENA_NEW(c->arena, SpecFile);
  *file = *table->file;
  facts->types = raw;
  facts->types_file = file;
}

static void read_entry(Compile *c, const FileTable *table, const RawEntry *entry, Facts *facts) {
  const Key *keys = table->is_cluster ? cluster_keys : device_keys;
  for (int32_t i = 0; i < (table->is_cluster ? CLUSTER_KEYS : DEVICE_KEYS); i++)
    if (strcmp(keys[i].name, entry->key) == 0) {
      read_number(c, table, entry, &keys[i], i, facts);
      return;
    }
  for (int32_t i = 0; table->is_cluster && i < FACT_TEXTS; i++)
    if (strcmp(text_keys[i].name, entry->key) == 0) {
      read_text(c, table, entry, i, facts);
      return;
    }
  if (!table->is_cluster && strcmp(entry->key, "gpu") == 0)
    read_gpu(c, table, entry, facts);
  else if (table->is_cluster && !*table->prefix && strcmp(entry->key, "types") == 0)
    read_types(c, table, entry, facts);
  else
    refuse_key(c, table, entry->key);
}

static void read_table(Compile *c, const FileTable *table, const Raw *raw, Facts *facts) {
  for (int32_t i = 0; i < raw->named.count; i++)
    read_entry(c, table, &raw->named.at[i], facts);
}

/* The cluster that a table begins with, or NULL. */
static const char *base_of(const Raw *raw) {
  const Raw *base = raw->list.count > 0 ? raw->list.at[0] : NULL;
  return base && base->kind == RAW_TEXT ? base->text : NULL;
}

/* Files from `name` on, the first of which is so far from the job. */
static bool read_chain(Compile *c, lua_State *L, bool is_cluster, const char *name,
                       const char *directory, Span at, int32_t depth, Facts *facts) {
  int32_t errors = c->diags.error_count;
  for (; name; depth++) {
    if (depth == LONGEST_CHAIN) {
      error_at(c, at, "base-cycle", "these cluster files begin with each other in a circle");
      fix_last(c, "begin one of them with none, or with a cluster of the library");
      return false;
    }
    const char *path = sandbox_find(c, is_cluster ? "clusters" : "devices", name, directory, at);
    if (!path) return false;
    SpecFile file = spec_file_read(c, L, path, "return", at);
    if (!file.spans || c->diags.error_count > errors) return false;
    if (!file.raw) {
      error_at(c, (Span){.file = path}, "wrong-type", "a %s file ends with a table",
               is_cluster ? "cluster" : "device");
      fix_last(c, "return { ... }");
      return false;
    }
    read_table(c, &(FileTable){&file, "", depth, is_cluster}, file.raw, facts);
    if (c->diags.error_count > errors) return false;
    name = is_cluster ? base_of(file.raw) : NULL;
    if (name) at = span_of_value(file.spans, "1");
    directory = file.directory;
  }
  return true;
}

bool facts_read(Compile *c, lua_State *L, const char *kind, const char *name, const char *directory,
                Span at, Facts *facts) {
  bool is_cluster = strcmp(kind, "clusters") == 0;
  return read_chain(c, L, is_cluster, name, directory, at, 0, facts);
}

const char *facts_device_of(Compile *c, lua_State *L, const char *gpu) {
  TextList names =
      library_names(c, arena_printf(c->arena, "%s/devices", c->specs_dir ? c->specs_dir : "specs"));
  for (int32_t i = 0; i < names.count; i++) {
    Facts facts = {0};
    if (facts_read(c, L, "devices", names.at[i], ".", (Span){0}, &facts) && facts.gpu &&
        strcmp(facts.gpu, gpu) == 0)
      return names.at[i];
  }
  return NULL;
}

bool facts_read_type(Compile *c, lua_State *L, const Facts *all, int32_t number, Facts *facts) {
  const SpecFile *file = all->types_file;
  const Raw *raw = all->types->list.at[number];
  const char *prefix = arena_printf(c->arena, "types.%d.", number + 1);
  int32_t errors = c->diags.error_count;
  read_table(c, &(FileTable){file, prefix, 0, true}, raw, facts);
  if (c->diags.error_count > errors) return false;
  Span at = span_of_value(file->spans, arena_printf(c->arena, "%s1", prefix));
  return read_chain(c, L, true, base_of(raw), file->directory, at, 1, facts);
}
