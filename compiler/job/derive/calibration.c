/* calibration.c -- reads and writes the file of measured rates. */
#include "compiler/job/calibration.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "compiler/job/derive/cluster_file.h"
#include "compiler/job/units.h"

const char *const calibration_names[CALIBRATION_RATES] = {
#define RATE(name, about) #name,
#include "compiler/job/calibration.def"
#undef RATE
};

static void refuse_key(Compile *c, const SpecFile *file, const char *path, const char *key,
                       const char *const *names, int32_t count) {
  const char *near = nearest_word(key, names, count);
  error_at(c, span_of_key(file->spans, path), "unknown-key",
           "%s: no such key of a calibration file", text_show(c->arena, key));
  if (near != NULL)
    fix_last(c, "%s", near);
  else
    note_at(c, (Span){0}, "`lockstep bench copies -o FILE.lua` writes such a file");
}

static double least_rate(int32_t rate) {
  switch ((CalibrationRate)rate) {
  case CALIBRATION_product_fp32:
  case CALIBRATION_product_bf16:
  case CALIBRATION_attention_fwd:
  case CALIBRATION_attention_bwd: return UNITS_FLOPS_LEAST;
  case CALIBRATION_messages:
  case CALIBRATION_records:
  case CALIBRATION_disk_requests: return 1;
  default: return UNITS_RATE_LEAST;
  }
}

/* { 54200000000, "2026-11-27" } */
static void read_rate(Compile *c, const SpecFile *file, const RawEntry *entry, Calibration *out) {
  const char *path = arena_printf(c->arena, "rates.%s", entry->key);
  const Raw *raw = entry->value;
  int32_t i = 0;
  while (i < CALIBRATION_RATES && strcmp(calibration_names[i], entry->key) != 0)
    i++;
  if (i == CALIBRATION_RATES) {
    refuse_key(c, file, path, entry->key, calibration_names, CALIBRATION_RATES);
    return;
  }
  const Span at = span_of_value(file->spans, path);
  if (raw->kind != RAW_TABLE || raw->named.count > 0 || raw->bad_key || raw->list.count != 2 ||
      raw->list.at[0]->kind != RAW_NUMBER || raw->list.at[1]->kind != RAW_TEXT) {
    error_at(c, at, "wrong-type", "rates.%s: expected a number a second and a day; got %s",
             entry->key, raw->kind == RAW_TABLE ? "another table" : raw_show(c->arena, raw));
    fix_last(c, "%s = { 54200000000, \"2026-11-27\" }", entry->key);
    return;
  }
  const double number = raw->list.at[0]->number;
  if (!(number >= least_rate(i) && number <= 1e18)) {
    error_at(c, at, "range", "rates.%s is %.16g to 1e+18 a second; got %s", entry->key,
             least_rate(i), raw_show(c->arena, raw->list.at[0]));
    return;
  }
  out->per_s[i] = number;
  out->day[i] = raw->list.at[1]->text;
  out->at[i] = at;
}

static void read_entry(Compile *c, const SpecFile *file, const RawEntry *entry, Calibration *out) {
  static const char *const names[] = {"processor", "device", "rates"};
  const bool is_rates = strcmp(entry->key, names[2]) == 0;
  const bool is_device = strcmp(entry->key, names[1]) == 0;
  if (!is_rates && !is_device && strcmp(entry->key, names[0]) != 0) {
    refuse_key(c, file, entry->key, entry->key, names, 3);
    return;
  }
  const Raw *raw = entry->value;
  if (raw->kind != (is_rates ? RAW_TABLE : RAW_TEXT) || raw->list.count > 0 || raw->bad_key) {
    error_at(c, span_of_value(file->spans, entry->key), "wrong-type", "%s: expected a %s; got %s",
             entry->key, is_rates ? "table of rates by name" : "name",
             raw->kind == RAW_TABLE ? "another table" : raw_show(c->arena, raw));
    return;
  }
  if (!is_rates) *(is_device ? &out->device : &out->processor) = raw->text;
  for (int32_t i = 0; is_rates && i < raw->named.count; i++)
    read_rate(c, file, &raw->named.at[i], out);
}

bool calibration_read(Compile *c, const char *path, Span at, Calibration *out) {
  const int32_t errors = c->diags.error_count;
  *out = (Calibration){0};
  lua_State *L = sandbox_open(c);
  const SpecFile file = spec_file_read(c, L, path, "return", at);
  if (file.spans != NULL && file.raw == NULL && c->diags.error_count == errors)
    error_at(c, (Span){.file = path}, "wrong-type", "a calibration file ends with a table");
  for (int32_t i = 0; file.raw != NULL && i < file.raw->named.count; i++)
    read_entry(c, &file, &file.raw->named.at[i], out);
  if (file.raw != NULL && out->processor == NULL && c->diags.error_count == errors)
    error_at(c, (Span){.file = path}, "missing-key",
             "processor: a calibration file says which machine it is of");
  sandbox_close(L);
  return c->diags.error_count == errors;
}

static void print_text(Arena *arena, FILE *out, const char *key, const char *text) {
  fprintf(out, "  %s = \"", key);
  for (const char *p = text_plain(arena, text); *p != '\0'; p++)
    fprintf(out, *p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
  fputs("\",\n", out);
}

bool calibration_write(Arena *arena, const char *path, const Calibration *from) {
  const char *fresh = file_beside(arena, path);
  FILE *out = fopen(fresh, "w");
  if (out == NULL) return false;
  fputs("-- Measured by lockstep bench, a second and when; cluster.calibration names this file.\n"
        "return {\n",
        out);
  print_text(arena, out, "processor", from->processor);
  if (from->device != NULL) print_text(arena, out, "device", from->device);
  fputs("  rates = {\n", out);
  for (int32_t i = 0; i < CALIBRATION_RATES; i++)
    if (from->per_s[i] > 0)
      fprintf(out, "    %s = { %.0f, \"%s\" },\n", calibration_names[i], from->per_s[i],
              text_plain(arena, from->day[i]));
  fputs("  },\n}\n", out);
  bool good = fflush(out) == 0 && (fsync(fileno(out)) == 0 || errno == EINVAL);
  good = fclose(out) == 0 && good;
  if (good && rename(fresh, path) == 0) return true;
  const int failure = errno;
  file_forget(fresh, path);
  errno = failure;
  return false;
}

/* True if the rates were measured on this kind of machine; others do not apply. */
static bool is_of(Compile *c, const Job *job, const Calibration *of, const Machine *machine,
                  const char *gpu) {
  const char *is = gpu != NULL || machine == NULL ? gpu : machine->processor;
  const char *was = gpu != NULL || of->device != NULL ? of->device : of->processor;
  if (is == NULL && of->device == NULL) return true; /* processors of another machine: not known */
  if (is != NULL && was != NULL && strcmp(is, was) == 0) return true;
  error_at(c, job->origin[FIELD_cluster_calibration].span, "calibration-machine",
           "%s was measured on %s, and the ranks run on %s", job->cluster.calibration,
           text_show(c->arena, was != NULL ? was : "a machine without GPUs"),
           is != NULL ? is : "processors");
  fix_last(c, "calibration = \"none\"");
  return false;
}

static void take_fact(const Calibration *of, int32_t rate, int32_t fact, Facts *facts) {
  if (of->per_s[rate] == 0) return;
  facts->number[fact] = of->per_s[rate];
  facts->is_known[fact] = true;
  facts->span[fact] = of->at[rate];
}

bool calibration_take(Compile *c, const Job *job, const Machine *machine, const char *gpu,
                      Facts *facts, Cluster *cluster) {
  /* Rates that a job states as facts of its cluster; the others are members of Cluster. */
  static const struct {
    int32_t rate, fact;
  } facts_of[] = {{CALIBRATION_host_link, CLUSTER_HOST_LINK},
                  {CALIBRATION_host_bandwidth, CLUSTER_HOST_BANDWIDTH},
                  {CALIBRATION_disk_read, CLUSTER_DISK_READ},
                  {CALIBRATION_disk_write, CLUSTER_DISK_WRITE}};
  Calibration of;
  if (!job->set[FIELD_cluster_calibration] || job->cluster.calibration == NULL) return true;
  if (!calibration_read(c, job->cluster.calibration, job->origin[FIELD_cluster_calibration].span,
                        &of) ||
      !is_of(c, job, &of, machine, gpu))
    return false;
  for (size_t i = 0; i < sizeof facts_of / sizeof *facts_of; i++)
    take_fact(&of, facts_of[i].rate, facts_of[i].fact, facts);
  if (cluster->target == TARGET_CPU) {
    take_fact(&of, CALIBRATION_host_copy, CLUSTER_HOST_LINK, facts);
    take_fact(&of, CALIBRATION_collectives, CLUSTER_INTRA, facts);
    take_fact(&of, CALIBRATION_messages, CLUSTER_INTRA_LATENCY, facts);
    if (of.per_s[CALIBRATION_messages] > 0)
      facts->number[CLUSTER_INTRA_LATENCY] = ceil(1e9 / of.per_s[CALIBRATION_messages]);
  }
  if (of.per_s[CALIBRATION_disk_requests] > 0)
    cluster->disk_request_s = 1 / of.per_s[CALIBRATION_disk_requests];
  cluster->update_bytes_per_s = of.per_s[CALIBRATION_host_update];
  cluster->measured = (MeasuredRates){
      .product_fp32 = of.per_s[CALIBRATION_product_fp32],
      .product_bf16 = of.per_s[CALIBRATION_product_bf16],
      .attention = of.per_s[CALIBRATION_attention_fwd],
      .attention_backward = of.per_s[CALIBRATION_attention_bwd],
      .norm = of.per_s[CALIBRATION_norm],
      .activation = of.per_s[CALIBRATION_activation],
      .loss = of.per_s[CALIBRATION_loss],
      .update = of.per_s[CALIBRATION_host_update],
      .memory = of.per_s[CALIBRATION_host_bandwidth],
      .records = of.per_s[CALIBRATION_records],
  };
  return true;
}
