/* command.c -- torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 ...: options of
 * launchers and of the program. */
#include <ctype.h>
#include <string.h>

#include "compiler/job/import/shell.h"

typedef struct Launcher {
  const char *name, *tool;
} Launcher;

static const Launcher launchers[] = {
    {"torchrun", "torch"}, {"deepspeed", "deepspeed"}, {"accelerate", "accelerate"},
    {"mpirun", "launch"},  {"mpiexec", "launch"},      {"srun", "launch"},
    {"python", "launch"},  {"python3", "launch"},      {"exec", "launch"},
    {"nohup", "launch"},   {"time", "launch"},         {"singularity", "launch"},
};

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static const Launcher *launcher_find(const char *word) {
  for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
    if (strcmp(launchers[i].name, base_name(word)) == 0) return &launchers[i];
  return NULL;
}

static bool is_number(const char *text) {
  double number;
  return text_number(text, &number);
}

static bool is_option(const char *word) {
  return *word == '-' && word[1] && !is_number(word);
}

static bool ends_with(const char *word, const char *end) {
  size_t length = strlen(word), width = strlen(end);
  return length >= width && strcmp(word + length - width, end) == 0;
}

static bool is_program(const char *word) {
  return ends_with(word, ".py") || strstr(word, "train_gpt") != NULL;
}

static bool starts_training(const ShellWords *words) {
  int32_t options = 0;
  bool has_program = false;
  for (int32_t i = 0; i < words->count; i++) {
    options += is_option(words->at[i].text);
    has_program |= is_program(words->at[i].text);
  }
  if (launcher_find(words->at[0].text) && (has_program || options > 2)) return true;
  return is_program(words->at[0].text) || is_option(words->at[0].text);
}

/* "--micro-batch-size" -> "micro_batch_size"; "-pn" stays. */
static const char *key_of(Arena *arena, const char *option, size_t width) {
  if (strncmp(option, "--", 2) != 0) return arena_copy_n(arena, option, width);
  char *key = arena_copy_n(arena, option + 2, width - 2);
  for (char *p = key; *p; p++)
    if (*p == '-') *p = '_';
  return key;
}

/* The option at *i with its values. `one`: at most one value, and none that is a program. */
static bool take_option(Import *im, const ShellWords *words, int32_t *i, int32_t tool, bool one) {
  Arena *arena = im->c->arena;
  const ShellWord *word = &words->at[*i];
  const char *equals = strchr(word->text, '=');
  size_t width = equals ? (size_t)(equals - word->text) : strlen(word->text);
  bool is_unread = word->is_unread;
  Texts items = {0};
  if (equals) VEC_PUSH(arena, &items.list, equals + 1);
  bool is_joined =
      !equals && word->text[1] != '-' && width > 2 && isdigit((unsigned char)word->text[2]);
  if (is_joined && one) { /* -N2 */
    VEC_PUSH(arena, &items.list, word->text + 2);
    width = 2;
  }
  while (items.list.count == 0 || (!equals && !one)) {
    const char *next = *i + 1 < words->count ? words->at[*i + 1].text : "--end";
    if (is_option(next) || (one && (is_program(next) || launcher_find(next)))) break;
    is_unread |= words->at[++*i].is_unread;
    VEC_PUSH(arena, &items.list, next);
  }
  const char *text = items.list.count > 0 ? items.list.at[0] : "true";
  for (int32_t k = 1; k < items.list.count && strlen(text) < 400; k++)
    text = arena_printf(arena, "%s %s", text, items.list.at[k]);
  const char *key = key_of(arena, word->text, width);
  for (int32_t k = 0; k < im->leaves.count; k++) {
    Leaf *before = &im->leaves.at[k];
    if (before->at.file == word->at.file && before->tool == tool && before->how == HOW_OPEN &&
        strcmp(before->key, key) == 0)
      drop(before, HOW_DECLINED, "the option is given again, and the later one wins", false);
  }
  LeafKind kind = items.list.count > 1 ? LEAF_LIST : LEAF_TEXT;
  Leaf *leaf = leaf_add(im, key, is_unread ? LEAF_UNREAD : kind, text, word->at);
  if (!leaf) return false;
  leaf->tool = tool;
  leaf->shown = arena_copy_n(arena, word->text, width);
  leaf->items = items;
  if (items.list.count == 0) {
    leaf->kind = LEAF_FLAG;
    leaf->number = 1;
  }
  leaf_guess(leaf);
  return true;
}

static bool take_word(Import *im, const ShellWord *word, const char *key, const char *why) {
  Leaf *leaf = leaf_add(im, key, LEAF_TEXT, word->text, word->at);
  if (!leaf) return false;
  leaf->tool = word_tool_find("launch");
  drop(leaf, HOW_DERIVED, why, false);
  return true;
}

/* Launchers and their options; *i is then at what follows the program. */
static bool take_launchers(Import *im, const ShellWords *words, int32_t *i) {
  int32_t tool = word_tool_find("launch");
  for (; *i < words->count; ++*i) {
    const ShellWord *word = &words->at[*i];
    const Launcher *launcher = launcher_find(word->text);
    bool is_module = strncmp(word->text, "torch.distributed", 17) == 0;
    if (launcher || is_module) {
      tool = word_tool_find(launcher ? launcher->tool : "torch");
      if (!take_word(im, word, "launcher",
                     "lockstep run, or srun in the script of lockstep submit, starts the ranks"))
        return false;
    } else if (strcmp(word->text, "launch") == 0 || strcmp(word->text, "-m") == 0 ||
               strcmp(word->text, "-u") == 0) {
      if (!take_word(im, word, "launcher", "it belongs to the launcher")) return false;
    } else if (is_option(word->text)) {
      if (!take_option(im, words, i, tool, true)) return false;
    } else {
      bool is_taken = take_word(im, word, "program", "lockstep run takes its place");
      ++*i;
      return is_taken;
    }
  }
  return true;
}

bool command_leaves(Import *im, const ShellWords *words) {
  if (!starts_training(words)) {
    const char *text = "";
    for (int32_t k = 1; k < words->count && strlen(text) < 200; k++)
      text = arena_printf(im->c->arena, "%s%s%s", text, k > 1 ? " " : "", words->at[k].text);
    size_t length = strlen(words->at[0].text);
    const char *name = length <= 100 ? words->at[0].text : "command";
    Leaf *leaf = leaf_add(im, name, LEAF_UNREAD, text, words->at[0].at);
    if (leaf) {
      leaf->tool = word_tool_find("launch");
      drop(leaf, HOW_UNREAD, "no command is run", false);
    }
    return leaf != NULL;
  }
  int32_t i = 0;
  bool is_bare = is_option(words->at[0].text);
  if (!is_bare && !take_launchers(im, words, &i)) return false;
  for (; i < words->count; i++) {
    bool is_good = is_option(words->at[i].text)
                       ? take_option(im, words, &i, im->tool, false)
                       : take_word(im, &words->at[i], "word", "it is no option");
    if (!is_good) return false;
  }
  return true;
}
