/* import.c -- which reader, which tool; then the tools' files in their order. */
#include "compiler/job/import/import.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "compiler/job/job_room.h"

typedef enum Format {
  FORMAT_JSON,
  FORMAT_YAML,
  FORMAT_TOML,
  FORMAT_PYTHON,
  FORMAT_SHELL,
  FORMATS
} Format;

static const struct {
  const char *name, *ends; /* of file names */
  bool (*read)(Import *im, const char *text, size_t size);
  const char *tools; /* the tools that have files of this kind */
} formats[FORMATS] = {
    [FORMAT_JSON] = {"JSON", ".json", read_json, "deepspeed trainer"},
    [FORMAT_YAML] = {"YAML", ".yaml .yml", read_yaml, "accelerate megatron"},
    [FORMAT_TOML] = {"TOML", ".toml", read_toml, "torchtitan"},
    [FORMAT_PYTHON] = {"Python", ".py", read_python, "nanogpt"},
    [FORMAT_SHELL] = {"a shell script", ".sh .bash .slurm .sbatch .job", read_shell,
                      "megatron torchtitan nanogpt llmc trainer"},
};

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static bool ends_with(const char *path, const char *ends) {
  size_t length = strlen(path);
  for (const char *at = ends; *at; at += strspn(at, " ")) {
    size_t width = strcspn(at, " ");
    if (length > width && strncasecmp(path + length - width, at, width) == 0) return true;
    at += width;
  }
  return false;
}

static Format guess_format(const char *path, const char *text) {
  for (int i = 0; i < FORMATS; i++)
    if (ends_with(path, formats[i].ends)) return (Format)i;
  const char *at = text + strspn(text, " \t\r\n");
  if (*at == '{') return FORMAT_JSON;
  if (strncmp(at, "#!", 2) == 0 || strstr(text, "\\\n")) return FORMAT_SHELL;
  for (; *at; at += strcspn(at, "\n"), at += *at == '\n') {
    size_t word = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
    const char *after = at + word + strspn(at + word, " \t");
    if (*at == '[') return FORMAT_TOML;
    if (word > 0 && *after == ':') return FORMAT_YAML;
    if (word > 0 && *after == '=') return at[word] == '=' ? FORMAT_SHELL : FORMAT_PYTHON;
  }
  return FORMAT_SHELL;
}

enum { SCORE_OF_A_KEY = 4 };

/* Leaves from `first` on whose keys the tool has, of the first hundred. */
static int32_t score(Import *im, int32_t first, int32_t tool) {
  int32_t count = 0;
  for (int32_t i = first; i < im->leaves.count && i < first + 100; i++) {
    const Leaf *leaf = &im->leaves.at[i];
    if (leaf->tool >= 0) continue; /* of a launcher */
    WordHits hits = words_find(im->c->arena, tool, leaf->key);
    if (hits.list.count > 0 && hits.list.at[0].fit != FIT_OUTER)
      count += hits.list.at[0].fit == FIT_SAME ? SCORE_OF_A_KEY : 1;
  }
  return count;
}

/* accelerate or deepspeed, if it starts the program of the leaves from `first` on; -1. */
static int32_t launcher_tool(const Import *im, int32_t first) {
  static const char *const launchers[] = {"accelerate", "deepspeed"};
  for (int32_t i = first; i < im->leaves.count; i++)
    for (int k = 0; k < 2; k++)
      if (strcmp(im->leaves.at[i].key, "launcher") == 0 &&
          strcmp(base_name(im->leaves.at[i].text), launchers[k]) == 0)
        return word_tool_find(launchers[k]);
  return -1;
}

/* The tool whose keys these are; -1: reported. */
static int32_t guess_tool(Import *im, int32_t first, Format format) {
  Arena *arena = im->c->arena;
  int32_t best = -1, best_score = 0, second_score = 0;
  const char *missing = "", *names = formats[format].tools;
  for (int32_t i = 0; *word_at(arena, names, i); i++) {
    int32_t tool = word_tool_find(word_at(arena, names, i));
    int32_t count = score(im, first, tool);
    missing = arena_printf(arena, "%s%s%s", missing, *missing ? ", " : "", word_tools[tool].title);
    if (count > best_score) {
      second_score = best_score;
      best_score = count;
      best = tool;
    } else if (count > second_score) {
      second_score = count;
    }
  }
  Span at = {.file = im->file};
  const int32_t launcher = format == FORMAT_SHELL ? launcher_tool(im, first) : -1;
  if (launcher >= 0 && best_score <= SCORE_OF_A_KEY) return launcher; /* the user's own program */
  if (best_score == 0)
    error_at(im->c, at, "import-kind",
             "it is %s, and has no key of %s; --as TOOL says what it is of", formats[format].name,
             missing);
  else if (second_score == best_score)
    error_at(im->c, at, "import-kind",
             "its keys are of several tools (%s); --as TOOL says of which", missing);
  return best_score > second_score ? best : -1;
}

static bool import_file(Import *im, const char *path, int32_t tool, int32_t depth);

/* A file that a leaf names: Accelerate's deepspeed_config_file, TrainingArguments' deepspeed. */
static bool follow(Import *im, int32_t tool, const char *key, int32_t depth) {
  Leaf *leaf = leaf_find(im, word_tool_find(word_tools[tool].id), key);
  if (!leaf || leaf->kind != LEAF_TEXT || !*leaf->text || !ends_with(leaf->text, ".json .hjson"))
    return true;
  const char *path =
      path_join(im->c->arena, path_directory(im->c->arena, leaf->at.file), leaf->text);
  drop(leaf, HOW_DERIVED, "the file is read, too", false);
  return import_file(im, path, word_tool_find("deepspeed"), depth + 1);
}

/* Options of the command win over the file that it names. */
static void drop_of_file(Import *im, int32_t first, int32_t file_first, int32_t tool) {
  for (int32_t i = file_first; i < im->leaves.count; i++)
    for (int32_t k = first; k < file_first; k++) {
      const char *key = im->leaves.at[i].key, *dot = strrchr(key, '.');
      if (im->leaves.at[k].tool == tool && im->leaves.at[i].how == HOW_OPEN &&
          word_is_same(im->leaves.at[k].key, dot ? dot + 1 : key))
        drop(&im->leaves.at[i], HOW_DECLINED, "the command's option wins", false);
    }
}

/* Files of other tools that the command's options name, --config_file of accelerate launch and
 * --deepspeed FILE, and options of accelerate launch itself. */
static bool follow_command(Import *im, int32_t first) {
  const int32_t accelerate = word_tool_find("accelerate"), deepspeed = word_tool_find("deepspeed"),
                last = im->leaves.count;
  for (int32_t i = first; i < last; i++) {
    Leaf *leaf = &im->leaves.at[i];
    const bool is_accelerate = leaf->tool == accelerate && leaf->how == HOW_OPEN;
    const bool is_file = is_accelerate && strcmp(leaf->key, "config_file") == 0;
    const bool is_deepspeed =
        strcmp(leaf->key, "deepspeed") == 0 || strcmp(leaf->key, "deepspeed_config") == 0;
    im->has_tool[accelerate] |= is_accelerate;
    if (leaf->kind != LEAF_TEXT || !*leaf->text ||
        (!is_file && !(is_deepspeed && ends_with(leaf->text, ".json .hjson"))))
      continue;
    const char *path =
        path_join(im->c->arena, path_directory(im->c->arena, leaf->at.file), leaf->text);
    if (access(path, F_OK) != 0) {
      drop(leaf, HOW_UNREAD, "this file is not here", true);
      continue;
    }
    drop(leaf, HOW_DERIVED, "the file is read, too", false);
    const int32_t file_first = im->leaves.count, tool = is_file ? accelerate : deepspeed;
    if (!import_file(im, path, tool, 1)) return false;
    drop_of_file(im, first, file_first, tool);
  }
  return true;
}

/* The JSON that TrainingArguments' fsdp_config may name, as the table that it is. */
static bool follow_fsdp(Import *im) {
  const int32_t tool = word_tool_find("trainer"), first = im->leaves.count;
  Leaf *leaf = leaf_find(im, tool, "fsdp_config");
  size_t size = 0;
  if (!leaf || leaf->kind != LEAF_TEXT || !ends_with(leaf->text, ".json")) return true;
  const char *path =
      path_join(im->c->arena, path_directory(im->c->arena, leaf->at.file), leaf->text);
  drop(leaf, HOW_DERIVED, "the file is read, too", false);
  char *text = import_text(im, path, &size);
  im->file = path;
  if (!text || !formats[FORMAT_JSON].read(im, text, size)) return false;
  for (int32_t i = first; i < im->leaves.count; i++) {
    im->leaves.at[i].key = arena_printf(im->c->arena, "fsdp_config.%s", im->leaves.at[i].key);
    im->leaves.at[i].tool = tool;
  }
  return true;
}

/* A folder as the job names it, which is read from the folder of job.lua. */
static const char *folder_for(Import *im, const char *folder) {
  bool is_elsewhere = im->out && strchr(im->out, '/') && *folder != '/';
  char *whole = is_elsewhere ? realpath(folder, NULL) : NULL;
  bool is_located = whole || *folder == '/' || strncmp(folder, "./", 2) == 0 ||
                    strcmp(folder, "..") == 0 || strncmp(folder, "../", 3) == 0;
  const char *text = whole ? whole : folder;
  text = is_located ? arena_copy(im->c->arena, text) : arena_printf(im->c->arena, "./%s", text);
  free(whole);
  return text;
}

/* config.json of a folder that Hugging Face's tools wrote: the model is the folder. */
static bool is_model(Import *im, const char *path, int32_t first) {
  Leaf *type = NULL;
  if (strcmp(base_name(path), "config.json") != 0) return false;
  for (int32_t i = first; i < im->leaves.count; i++)
    if (strcmp(im->leaves.at[i].key, "model_type") == 0) type = &im->leaves.at[i];
  if (!type) return false;
  const char *folder = folder_for(im, path_directory(im->c->arena, path));
  for (int32_t i = first; i < im->leaves.count; i++) {
    im->leaves.at[i].tool = word_tool_find("trainer"); /* whose folders these are */
    if (&im->leaves.at[i] != type)
      drop(&im->leaves.at[i], HOW_DERIVED, "the folder's config.json is read with the job", false);
  }
  take(im, type, "model", lua_text(im->c->arena, folder), "");
  VEC_PUSH(im->c->arena, &im->titles.list,
           arena_printf(im->c->arena, "%s (a model's folder)", base_name(path)));
  return true;
}

/* A file that another one names may be an argument, too. */
static bool is_read_already(Import *im, const char *path) {
  char *whole = realpath(path, NULL);
  const char *name = whole ? arena_copy(im->c->arena, whole) : NULL;
  free(whole);
  if (!name) return false;
  for (int32_t i = 0; i < im->files.list.count; i++)
    if (strcmp(im->files.list.at[i], name) == 0) return true;
  VEC_PUSH(im->c->arena, &im->files.list, name);
  return false;
}

static bool import_file(Import *im, const char *path, int32_t tool, int32_t depth) {
  size_t size;
  if (is_read_already(im, path)) return true;
  char *text = import_text(im, path, &size);
  if (!text) return false;
  Format format = guess_format(path, text);
  int32_t first = im->leaves.count;
  im->file = path;
  im->tool = tool;
  if (!formats[format].read(im, text, size)) return false;
  if (format == FORMAT_JSON && is_model(im, path, first)) return !compile_failed(im->c);
  if (tool < 0) tool = guess_tool(im, first, format);
  if (tool < 0) return false;
  for (int32_t i = first; i < im->leaves.count; i++)
    if (im->leaves.at[i].tool < 0) im->leaves.at[i].tool = tool;
  im->has_tool[tool] = true;
  VEC_PUSH(im->c->arena, &im->titles.list,
           arena_printf(im->c->arena, "%s (%s)", base_name(path), word_tools[tool].title));
  if (format == FORMAT_SHELL) return depth > 0 || follow_command(im, first);
  if (depth > 1) return true;
  if (tool == word_tool_find("accelerate"))
    return follow(im, tool, "deepspeed_config.deepspeed_config_file", depth) &&
           follow(im, tool, "deepspeed_config_file", depth);
  return tool != word_tool_find("trainer") ||
         (follow_fsdp(im) && follow(im, tool, "deepspeed", depth));
}

static bool import_command(Import *im, const char *words, int32_t tool) {
  im->file = "command";
  im->tool = tool;
  if (text_find_bad(words, words + strlen(words)) || strlen(words) > FILE_MOST)
    return error_at(im->c, (Span){.file = im->file}, "not-text", "the command is not UTF-8 text");
  int32_t first = im->leaves.count;
  if (!read_shell(im, words, strlen(words))) return false;
  if (tool < 0) tool = guess_tool(im, first, FORMAT_SHELL);
  if (tool < 0) return false;
  for (int32_t i = first; i < im->leaves.count; i++)
    if (im->leaves.at[i].tool < 0) im->leaves.at[i].tool = tool;
  im->has_tool[tool] = true;
  VEC_PUSH(im->c->arena, &im->titles.list,
           arena_printf(im->c->arena, "a command of %s", word_tools[tool].title));
  return follow_command(im, first);
}

/* Files have keys of Adam beside another optimizer, which does not look at them. */
static void drop_of_others(Import *im) {
  const JobSetting *head = setting_find(im, "optimizer");
  const OptimizerRow *row = NULL;
  for (size_t i = 0; head && i < sizeof optimizer_rows / sizeof *optimizer_rows; i++)
    if (strstr(head->value, optimizer_rows[i].name)) row = &optimizer_rows[i];
  for (int32_t i = 0; row && i < im->settings.count; i++) {
    JobSetting *setting = &im->settings.at[i];
    static const char *const keys = "beta1 beta2 eps momentum";
    bool is_other = strcmp(setting->section, "optimizer") == 0 && setting->key &&
                    word_index(keys, setting->key) >= 0 &&
                    word_index(row->attrs, setting->key) < 0 && strcmp(setting->note, "-D") != 0;
    if (!is_other) continue;
    Leaf *leaf = (Leaf *)setting->leaf;
    if (leaf) {
      leaf->as.list.count = 0;
      drop(leaf, HOW_DERIVED, "the optimizer does not look at it", false);
    }
    im->settings.at[i--] = im->settings.at[--im->settings.count];
  }
  double decay = 0;
  bool decays = row && strcmp(row->name, "sgd") == 0 &&
                setting_number(im, "optimizer.weight_decay", &decay) && decay > 0;
  if (decays && setting_find(im, "optimizer.weight_decay")->leaf)
    VEC_PUSH(im->c->arena, &im->lost.list,
             "weight_decay of SGD, which is added to gradients there: here it is apart from them");
}

/* Keys of ZeRO where one rank has each part of the model: nothing is shared. */
static void drop_of_one(Import *im) {
  double cp = 1;
  setting_number(im, "parallel.cp", &cp);
  if (import_dp(im) != 1 || cp > 1) return;
  for (int32_t i = 0; i < im->settings.count; i++) {
    JobSetting *setting = &im->settings.at[i];
    bool is_zero = strcmp(setting->section, "parallel") == 0 && setting->key &&
                   strncmp(setting->key, "zero", 4) == 0 && strcmp(setting->note, "-D") != 0;
    if (!is_zero) continue;
    Leaf *leaf = (Leaf *)setting->leaf;
    if (leaf) {
      leaf->as.list.count = 0;
      drop(leaf, HOW_DERIVED, "there is one replica, and nothing is shared", false);
    }
    im->settings.at[i--] = im->settings.at[--im->settings.count];
  }
}

/* ---- what no file can say */

/* Degrees that more ranks than one have. */
static bool needs_ranks(const Import *im) {
  static const char *const degrees[] = {"parallel.tp", "parallel.pp", "parallel.cp"};
  double number = 0;
  if (setting_number(im, "parallel.zero", &number) && number > 0) return true;
  for (int i = 0; i < 3; i++)
    if (setting_number(im, degrees[i], &number) && number > 1) return true;
  return false;
}

static void open_lines(Import *im) {
  static const char *const needed[][3] = {
      {"model", "model = { \"gpt2\", layers = ..., width = ... },", "lockstep list models"},
      {"data", "data = { train = \"train.bin\" },", "lockstep tokenize"},
      {"train.batch", "train.batch = \"... sequences\"", "one step of the whole job"},
      {"train.steps", "train.steps = ...", "the length of the run"},
      {"optimizer", "optimizer = \"adamw\"", "the script's own"},
      {"optimizer.lr", "optimizer.lr = ...", "the peak of the learning rate"}};
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
    bool is_data = strcmp(needed[i][0], "data") == 0 &&
                   (setting_find(im, "data.train") || is_asked(im, "data.train"));
    bool is_model = strcmp(needed[i][0], "model") == 0 && setting_find(im, "model.layers");
    if (setting_find(im, needed[i][0]) || is_asked(im, needed[i][0]) || is_data || is_model)
      continue;
    open_line(im, arena_printf(im->c->arena, "%s   %s", needed[i][1], needed[i][2]));
  }
  if (needs_ranks(im) && !setting_find(im, "cluster.devices") && !setting_find(im, "cluster") &&
      !is_asked(im, "cluster.devices"))
    open_line(im, "cluster.devices = ...   GPUs of a node; else those of this machine");
}

Import *import_read(Compile *c, const ImportAsk *ask) {
  Import *im = ARENA_NEW(c->arena, Import);
  im->c = c;
  im->out = ask->out;
  int32_t tool = -1;
  if (ask->as) {
    tool = word_tool_find(ask->as);
    bool is_one =
        tool >= 0 && word_index("deepspeed accelerate trainer torchtitan megatron nanogpt llmc",
                                word_tools[tool].id) >= 0;
    if (!is_one) {
      error_at(c, (Span){0}, "import-kind",
               "--as %s: it is one of deepspeed, accelerate, trainer, torchtitan, "
               "megatron, nanogpt and llmc",
               text_plain(c->arena, ask->as));
      return NULL;
    }
  }
  for (int32_t i = 0; i < ask->define_count; i++)
    take_define(im, ask->defines[i]);
  for (int32_t i = 0; i < ask->file_count && !compile_failed(c); i++)
    import_file(im, ask->files[i], tool, 0);
  if (ask->command && !compile_failed(c)) import_command(im, ask->command, tool);
  if (compile_failed(c)) return NULL;
  convert_launchers(im);
  convert_accelerate(im);
  convert_trainer(im);
  convert_deepspeed(im);
  convert_torchtitan(im);
  convert_megatron(im);
  convert_nanogpt(im);
  convert_llmc(im);
  drop_of_others(im);
  drop_of_one(im);
  convert_rest(im);
  open_lines(im);
  rates_write(im);
  return compile_failed(c) ? NULL : im;
}

int32_t import_lost(const Import *im) {
  int32_t count = im->lost.list.count;
  for (int32_t i = 0; i < im->leaves.count; i++)
    count += im->leaves.at[i].changes_training;
  return count;
}

int32_t import_unknown(const Import *im) {
  int32_t count = 0;
  for (int32_t i = 0; i < im->leaves.count; i++)
    count += im->leaves.at[i].how == HOW_UNKNOWN;
  return count;
}
