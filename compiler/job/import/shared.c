/* shared.c -- what the tools' files have in common. */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "compiler/job/import/import.h"
#include "compiler/job/job_room.h"
#include "compiler/job/settings.h"

enum { RANKS_MOST = 1 << 30 }; /* a larger number is a mistake, which reading the job reports */

static double number_or(const Import *im, const char *path, double otherwise) {
  double number = 0;
  return setting_number(im, path, &number) ? number : otherwise;
}

int64_t import_ranks(Import *im) {
  double devices = number_or(im, "cluster.devices", 0);
  double ranks = devices * number_or(im, "cluster.nodes", 1);
  return ranks >= 0 && ranks <= RANKS_MOST ? (int64_t)ranks : 0;
}

int64_t import_dp(Import *im) {
  int64_t ranks = import_ranks(im);
  double shared = number_or(im, "parallel.tp", 1) * number_or(im, "parallel.pp", 1) *
                  number_or(im, "parallel.cp", 1);
  return ranks > 0 && shared >= 1 && shared <= RANKS_MOST ? ranks / (int64_t)shared : 0;
}

void take_precision(Import *im, Leaf *leaf, const char *word) {
  take(im, leaf, "precision", lua_text(im->c->arena, word), "");
}

void take_devices(Import *im, Leaf *leaf, double total, double nodes) {
  double devices = total / (nodes > 0 ? nodes : 1);
  if (floor(devices) != devices || devices < 1) {
    error_at(im->c, leaf->at, "import-conflict",
             "%s: %g ranks are no whole number on each of %g nodes", leaf->shown, total, nodes);
    return;
  }
  take(im, leaf, "cluster.devices", lua_number(im->c->arena, devices),
       nodes > 1 ? arena_printf(im->c->arena, "%g ranks on %g nodes", total, nodes) : "");
}

/* Weights are where their states are. */
void take_states_too(Import *im) {
  const JobSetting *weights = setting_find(im, "offload.weights");
  if (weights && !setting_find(im, "offload.optimizer"))
    take_default(im, "offload.optimizer", weights->value, "updates need weights where states are");
}

void open_line(Import *im, const char *line) {
  VEC_PUSH(im->c->arena, &im->open_lines.list, line);
}

bool is_asked(const Import *im, const char *path) {
  const size_t length = strlen(path);
  for (int32_t i = 0; i < im->open_lines.list.count; i++) {
    const char *line = im->open_lines.list.at[i];
    if (strncmp(line, path, length) == 0 && strchr(" :", line[length])) return true;
  }
  return false;
}

void ask_if_unread(Import *im, const Leaf *leaf, const char *path) {
  const JobSetting *setting = setting_find(im, path);
  const bool is_default = setting && !setting->leaf && strcmp(setting->note, "-D") != 0;
  if (leaf->kind != LEAF_UNREAD || (setting && !is_default) || is_asked(im, path)) return;
  open_line(im, arena_printf(im->c->arena, "%s = ...   %s is %s, known only when the script runs",
                             path, leaf->shown, text_plain(im->c->arena, leaf->text)));
}

bool key_takes(Import *im, const char *path, const char *word) {
  const char *dot = strchr(path, '.');
  int32_t section = section_find(arena_copy_n(im->c->arena, path, (size_t)(dot - path)));
  int32_t field = section >= 0 ? field_find((SectionId)section, dot + 1) : -1;
  return field >= 0 && (!word || word_index(spec_fields[field].values, word) >= 0);
}

/* "none", "cpu" or "nvme": where states or weights are. */
void take_offload(Import *im, Leaf *leaf, const char *path) {
  Arena *arena = im->c->arena;
  if (!leaf || leaf->kind != LEAF_TEXT || leaf_is_auto(leaf)) return;
  if (word_is_same(leaf->text, "none"))
    drop(leaf, HOW_DERIVED, "nothing is offloaded without the key", false);
  else if (key_takes(im, path, leaf->text))
    take(im, leaf, path, lua_text(arena, leaf->text), "");
  else
    drop(leaf, HOW_NOT_BUILT,
         arena_printf(arena, "%s = \"%.20s\" is not built: it stays in device memory", path,
                      text_plain(arena, leaf->text)),
         false);
}

const char *bytes_of(Import *im, double bytes) {
  if (fmod(bytes, 1e6) == 0) return arena_printf(im->c->arena, "\"%.0fMB\"", bytes / 1e6);
  if (fmod(bytes, 1 << 20) == 0)
    return arena_printf(im->c->arena, "\"%.0fMiB\"", bytes / (1 << 20));
  return arena_printf(im->c->arena, "\"%.0fB\"", bytes);
}

double precision_bytes(const Import *im, const char *path) {
  const JobSetting *setting = setting_find(im, path);
  if (!setting && strcmp(path, "precision.grad") == 0) return 4;
  if (!setting) setting = setting_find(im, "precision");
  return setting && strstr(setting->value, "fp32") ? 4 : 2;
}

/* ---- leaves that no tool took */

static bool is_unset(const Leaf *leaf) {
  static const char *const words[] = {"none", "no", "off", "false", ""};
  if (leaf->kind == LEAF_NULL || leaf->kind == LEAF_EMPTY) return true;
  if (leaf->kind == LEAF_FLAG || leaf->kind == LEAF_NUMBER) return leaf->number == 0;
  for (size_t i = 0; leaf->kind == LEAF_TEXT && i < sizeof words / sizeof *words; i++)
    if (strcasecmp(leaf->text, words[i]) == 0) return true;
  return false;
}

/* False: the table that the key is in is none of the tool's. */
static bool is_in_known_table(Import *im, const Leaf *leaf) {
  const char *dot = strchr(leaf->key, '.');
  if (!dot) return true;
  const char *table = arena_copy_n(im->c->arena, leaf->key, (size_t)(dot - leaf->key));
  for (int32_t i = 0; i < word_row_count(); i++) {
    const WordRow *row = word_row(i);
    if (row->tool != leaf->tool) continue;
    for (const char *at = row->names; *at; at += strspn(at, " ")) {
      size_t length = strcspn(at, " .");
      if (tolower((unsigned char)*at) == tolower((unsigned char)*table) &&
          word_is_same(arena_copy_n(im->c->arena, at, length), table))
        return true;
      at += strcspn(at, " ");
    }
  }
  return false;
}

static void tell_unknown(Import *im, Leaf *leaf) {
  Arena *arena = im->c->arena;
  const char *dot = strrchr(leaf->key, '.');
  WordHits near = words_near(arena, leaf->tool, leaf->key, 1);
  if (dot && near.list.count == 0) near = words_near(arena, leaf->tool, dot + 1, 1);
  const char *title = word_tools[leaf->tool].title;
  leaf->how = HOW_UNKNOWN;
  leaf->why = arena_printf(arena, "%s has no such key", title);
  if (near.list.count > 0)
    leaf->why =
        arena_printf(arena, "%s has no such key; did you mean %s?", title, near.list.at[0].name);
}

/* Keys of validation are refused in a job that has no data for it. */
static bool lacks_valid(const Import *im, const WordRow *row) {
  return strncmp(row->ours, "train.validate", 14) == 0 && !setting_find(im, "data.valid");
}

static bool take_mebibytes(Import *im, Leaf *leaf, const char *path) {
  if (leaf->kind != LEAF_NUMBER || leaf->number < 1 || leaf->number > 1e6 ||
      floor(leaf->number) != leaf->number)
    return false;
  take(im, leaf, path, arena_printf(im->c->arena, "\"%.0fMiB\"", leaf->number), "");
  return leaf->how != HOW_OPEN;
}

/* A key of the same meaning, whose value is written as it is. */
static bool take_plainly(Import *im, Leaf *leaf, const WordRow *row) {
  Arena *arena = im->c->arena;
  const char *dot = strchr(row->ours, '.');
  if (!dot || lacks_valid(im, row) || setting_find(im, row->ours)) return false;
  if (strcmp(row->value, "\"NMiB\"") == 0) return take_mebibytes(im, leaf, row->ours);
  if (*row->note) return false;
  int32_t section = section_find(arena_copy_n(arena, row->ours, (size_t)(dot - row->ours)));
  int32_t field = section >= 0 ? field_find((SectionId)section, dot + 1) : -1;
  if (field < 0) return false;
  Kind kind = spec_fields[field].kind;
  bool is_count = kind == KIND_COUNT && leaf->number >= 0 && floor(leaf->number) == leaf->number;
  if (leaf->kind == LEAF_NUMBER && (is_count || kind == KIND_NUMBER))
    take(im, leaf, row->ours, lua_number(arena, leaf->number), "");
  else if (kind == KIND_FLAG && leaf->kind == LEAF_FLAG)
    take(im, leaf, row->ours, leaf->number != 0 ? "true" : "false", "");
  else
    return false;
  return leaf->how != HOW_OPEN;
}

/* True if another value of this key changes the trained weights. For a key that is not built yet,
 * its section decides. */
static bool changes_numbers(Import *im, const char *path) {
  const char *dot = strchr(path, '.');
  size_t length = dot ? (size_t)(dot - path) : strlen(path);
  int32_t section = section_find(arena_copy_n(im->c->arena, path, length));
  if (section < 0) return false;
  SettingEffect effect = spec_effect(section, dot ? field_find((SectionId)section, dot + 1) : -1);
  return effect == SETTING_EXPERIMENT || effect == SETTING_SCHEDULE || effect == SETTING_MODEL;
}

/* The row of a table that is none here as a whole, which then answers for its keys; NULL. */
static const WordRow *row_of_table(Import *im, const Leaf *leaf) {
  const char *dot = strchr(leaf->key, '.');
  if (!dot) return NULL;
  const char *table = arena_copy_n(im->c->arena, leaf->key, (size_t)(dot - leaf->key));
  WordHits hits = words_find(im->c->arena, leaf->tool, table);
  if (hits.list.count == 0 || hits.list.at[0].fit != FIT_SAME) return NULL;
  const WordRow *row = hits.list.at[0].row;
  bool has_place = row->answer == WORD_RENAMED || row->answer == WORD_VALUE ||
                   row->answer == WORD_SETTING || row->answer == WORD_INTERNAL;
  bool is_read = row->answer == WORD_INSTEAD && strcmp(row->ours, "lockstep import FILE") == 0;
  return has_place || is_read ? NULL : row;
}

/* -D model=... or the folder of a config.json: sizes in other files are not read. */
static const char *says_model(const Import *im, const WordRow *row) {
  const JobSetting *model = setting_find(im, "model");
  bool is_size = strcmp(row->ours, "model") == 0 || strncmp(row->ours, "model.", 6) == 0;
  if (!model || !is_size) return NULL;
  if (!model->leaf) return strcmp(model->note, "-D") == 0 ? "-D model says it" : NULL;
  return strcmp(model->leaf->key, "model_type") == 0 ? "the model's folder says it" : NULL;
}

/* { "enabled": false, ... } */
static bool is_switched_off(Import *im, const Leaf *leaf) {
  const char *dot = strchr(leaf->key, '.');
  if (!dot) return false;
  const char *key = arena_printf(im->c->arena, "%.*s.enabled", (int)(dot - leaf->key), leaf->key);
  for (int32_t i = 0; i < im->leaves.count; i++) {
    const Leaf *other = &im->leaves.at[i];
    if (other->tool == leaf->tool && other->kind == LEAF_FLAG && strcmp(other->key, key) == 0)
      return other->number == 0;
  }
  return false;
}

static void answer(Import *im, Leaf *leaf) {
  Arena *arena = im->c->arena;
  WordHits hits = words_find(arena, leaf->tool, leaf->key);
  WordFit fit = hits.list.count > 0 ? hits.list.at[0].fit : FIT_NONE;
  const WordRow *table = row_of_table(im, leaf), *row = NULL;
  bool is_known = fit == FIT_INNER && is_in_known_table(im, leaf);
  if (fit == FIT_SAME || (is_known && !(table && table->answer == WORD_IMPOSSIBLE)))
    row = hits.list.at[0].row;
  else
    row = table;
  if (!row) {
    tell_unknown(im, leaf);
    return;
  }
  if (is_switched_off(im, leaf)) {
    drop(leaf, HOW_DERIVED, "its table is not enabled", false);
    return;
  }
  const char *later = word_later(arena, row);
  leaf->why = row->note;
  switch (row->answer) {
  case WORD_RENAMED:
    if (says_model(im, row)) {
      drop(leaf, HOW_DECLINED, says_model(im, row), false);
      return;
    }
    if (later) {
      leaf->how = HOW_NOT_BUILT;
      leaf->why = arena_printf(arena, "that is %s, which is not built yet; %s", row->ours, later);
      leaf->changes_training = changes_numbers(im, row->ours) && !is_unset(leaf);
      return;
    }
    if (take_plainly(im, leaf, row)) return;
    leaf->how = HOW_DECLINED;
    leaf->why =
        is_unset(leaf) ? arena_printf(arena, "%s stays as it is", row->ours)
        : lacks_valid(im, row)
            ? arena_printf(arena, "that is %s here, which needs data.valid", row->ours)
        : setting_find(im, row->ours)
            ? arena_printf(arena, "%s has the value of another key", row->ours)
            : arena_printf(arena, "that is %s here; this value has no counterpart", row->ours);
    leaf->changes_training = changes_numbers(im, row->ours) && !is_unset(leaf);
    return;
  case WORD_IMPOSSIBLE:
    leaf->how = HOW_IMPOSSIBLE;
    leaf->changes_training = !is_unset(leaf);
    return;
  case WORD_UNBUILT:
    leaf->how = HOW_NOT_BUILT;
    leaf->why = arena_printf(arena, "%s: until then, %s", row->note, row->value);
    return;
  case WORD_DERIVED: leaf->how = HOW_DERIVED; return;
  case WORD_SETTING:
    leaf->why = "it is a variable of slurm.env";
    /* fall through */
  default: leaf->how = HOW_DECLINED;
  }
}

void convert_rest(Import *im) {
  for (int32_t i = 0; i < im->leaves.count; i++) {
    Leaf *leaf = &im->leaves.at[i];
    if (leaf->how != HOW_OPEN) continue;
    if (leaf->kind == LEAF_UNREAD) {
      const WordHits hits = words_find(im->c->arena, leaf->tool, leaf->key);
      const WordRow *row =
          hits.list.count > 0 && hits.list.at[0].fit == FIT_SAME ? hits.list.at[0].row : NULL;
      if (row && row->answer == WORD_RENAMED && strchr(row->ours, '.') &&
          !word_later(im->c->arena, row) && !says_model(im, row))
        ask_if_unread(im, leaf, row->ours);
      if (!leaf->why) leaf->why = "its value is known only when the script runs";
      leaf->how = HOW_UNREAD;
    } else {
      answer(im, leaf);
    }
  }
}
