/* sample_text.c -- see sample.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/show/cli/sample.h"
#include "runtime/json/json.h"

enum { CONFIG_BYTES_MAX = 1 << 20, BYTE_IDS = 256 };

static json_t *read_config(Compile *c, const char *folder, const char *name) {
  int failure = 0;
  JsonFault fault;
  return json_read_file(arena_printf(c->arena, "%s/%s", folder, name), CONFIG_BYTES_MAX, &failure,
                        &fault);
}

static void add_ends(Compile *c, Language *l, const char *name) {
  json_t *config = read_config(c, l->model, name);
  const json_t *ends = json_object_get(config, "eos_token_id"), *item;
  size_t i;
  if (json_is_integer(ends)) VEC_PUSH(c->arena, &l->ends, json_integer_value(ends));
  json_array_foreach((json_t *)ends, i, item) if (json_is_integer(item))
      VEC_PUSH(c->arena, &l->ends, json_integer_value(item));
  const json_t *vocab = json_object_get(config, "vocab_size");
  l->are_bytes |= l->tokenizer == NULL && json_integer_value(vocab) == BYTE_IDS;
  json_decref(config);
}

ExitCode language_open(Language *l, const Used *used) {
  char why[TOKENIZER_WHY_BYTES] = "";
  Compile *c = used->c;
  *l = (Language){.model = used->model, .are_bytes = used->are_bytes};
  if (l->model == NULL || l->are_bytes) return EXIT_DONE;
  if (access(arena_printf(c->arena, "%s/tokenizer.json", l->model), F_OK) == 0) {
    l->tokenizer = tokenizer_open(l->model, why);
    if (l->tokenizer == NULL) return complain(EXIT_USER, "%s", why);
    l->encoder = encoder_new(l->tokenizer);
    if (l->encoder == NULL) return complain(EXIT_WORLD, "not enough memory");
    const int64_t eos = tokenizer_ends(l->tokenizer).eos;
    if (eos >= 0) VEC_PUSH(c->arena, &l->ends, eos);
  }
  add_ends(c, l, "config.json");
  add_ends(c, l, "generation_config.json");
  return EXIT_DONE;
}

void language_close(Language *l) {
  chat_close(&l->chat);
  encoder_free(l->encoder);
  tokenizer_free(l->tokenizer);
}

ExitCode language_encode(Compile *c, Language *l, const char *text, CountList *ids) {
  char why[TOKENIZER_WHY_BYTES] = "";
  TokenIds made = {0};
  if (l->tokenizer == NULL && !l->are_bytes)
    return complain(EXIT_USER,
                    "%s has no tokenizer.json, and its tokens are no bytes: --ids 5,9 says a "
                    "prompt in ids",
                    l->model != NULL ? l->model : "the run");
  for (const char *at = text; l->are_bytes && *at; at++)
    VEC_PUSH(c->arena, ids, (unsigned char)*at);
  if (l->are_bytes) return EXIT_DONE;
  const TokenizerEnds ends = tokenizer_ends(l->tokenizer);
  if (ends.adds_bos && ends.bos >= 0) VEC_PUSH(c->arena, ids, ends.bos);
  bool good = tokenizer_encode(l->encoder, text, strlen(text), SPECIAL_PARSE, &made, why);
  for (int64_t i = 0; good && i < made.count; i++)
    VEC_PUSH(c->arena, ids, made.at[i]);
  tokenizer_free_ids(&made);
  return good ? EXIT_DONE : complain(EXIT_USER, "the prompt: %s", why);
}

bool language_is_known(const Language *l) {
  return l->are_bytes || l->tokenizer != NULL;
}

const char *language_decode(Compile *c, const Language *l, const int64_t *ids, int64_t count) {
  if (l->are_bytes) {
    char *text = arena_alloc(c->arena, (size_t)count + 1);
    for (int64_t i = 0; i < count; i++)
      text[i] = (char)(ids[i] == 0 ? ' ' : ids[i]);
    text[count] = '\0';
    return text;
  }
  if (l->tokenizer == NULL) return NULL;
  size_t bytes = 0;
  uint32_t *narrow = ARENA_ARRAY(c->arena, uint32_t, count + 1);
  for (int64_t i = 0; i < count; i++)
    narrow[i] = (uint32_t)ids[i];
  char *text = tokenizer_decode(l->tokenizer, narrow, count, true, &bytes);
  const char *kept = text != NULL ? arena_copy(c->arena, text) : NULL;
  free(text);
  return kept;
}
