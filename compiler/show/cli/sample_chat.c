/* sample_chat.c -- prompts as conversations: a chat page says how messages become text and special
 * tokens, and which token ends a turn of the assistant. */
#include <string.h>

#include "compiler/show/cli/sample.h"

static int64_t special_id(const Tokenizer *tokenizer, const char *name) {
  const TokenizerEnds ends = tokenizer_ends(tokenizer);
  if (strcmp(name, "bos") == 0) return ends.bos;
  if (strcmp(name, "eos") == 0) return ends.eos;
  return tokenizer_id(tokenizer, name);
}

/* Content never is special tokens. */
static bool add_text(Compile *c, const Language *l, const char *text, CountList *ids, char *why) {
  TokenIds made = {0};
  const size_t bytes = strlen(text);
  const bool good =
      bytes == 0 ||
      (ids->count == 0
           ? tokenizer_encode(l->encoder, text, bytes, SPECIAL_TEXT, &made, why)
           : tokenizer_encode_inside(l->encoder, text, bytes, SPECIAL_TEXT, &made, why));
  for (int64_t i = 0; good && i < made.count; i++)
    VEC_PUSH(c->arena, ids, made.at[i]);
  tokenizer_free_ids(&made);
  return good;
}

/* As tokenize encodes them: adjacent texts that are all targets, or none, are one. */
static ExitCode add_pieces(Compile *c, const Language *l, const DocumentPiece *pieces,
                           int32_t count, CountList *ids) {
  char why[TOKENIZER_WHY_BYTES] = "";
  const char *text = "";
  for (int32_t i = 0; i < count; i++) {
    const DocumentPiece *piece = &pieces[i];
    const bool goes_on = i > 0 && !piece->is_special && piece->is_target == pieces[i - 1].is_target;
    if (!goes_on && !add_text(c, l, text, ids, why))
      return complain(EXIT_USER, "the prompt: %s", why);
    if (!piece->is_special) {
      text = goes_on ? arena_printf(c->arena, "%s%s", text, piece->text)
                     : arena_copy(c->arena, piece->text);
      continue;
    }
    const int64_t id = special_id(l->tokenizer, piece->text);
    text = "";
    if (id < 0)
      return complain(EXIT_USER,
                      "the chat page wants the token \"%.60s\", which the tokenizer of %s lacks",
                      piece->text, l->model);
    VEC_PUSH(c->arena, ids, id);
  }
  return add_text(c, l, text, ids, why) ? EXIT_DONE : complain(EXIT_USER, "the prompt: %s", why);
}

static ExitCode find_pieces(const Language *l, const DocumentMessage *messages, int32_t count,
                            const DocumentPiece **pieces, int32_t *piece_count) {
  char why[TOKENS_WHY_BYTES] = "";
  return l->chat.pieces(l->chat.user, messages, count, pieces, piece_count, why)
             ? EXIT_DONE
             : complain(EXIT_USER, "%s", why);
}

ExitCode language_encode_chat(Compile *c, const Language *l, const DocumentMessage *messages,
                              int32_t count, CountList *ids) {
  const DocumentPiece *pieces = NULL;
  int32_t piece_count = 0;
  const ExitCode code = find_pieces(l, messages, count, &pieces, &piece_count);
  return code == EXIT_DONE ? add_pieces(c, l, pieces, piece_count, ids) : code;
}

/* The special tokens that the assistant is trained to end its turn with. */
static ExitCode add_ends(Compile *c, Language *l) {
  static const DocumentMessage turn[] = {{"user", "a"}, {"assistant", "b"}};
  const DocumentPiece *pieces = NULL;
  int32_t count = 0;
  const ExitCode code = find_pieces(l, turn, 2, &pieces, &count);
  for (int32_t i = 0; i < count && code == EXIT_DONE; i++) {
    const int64_t id =
        pieces[i].is_special && pieces[i].is_target ? special_id(l->tokenizer, pieces[i].text) : -1;
    if (id >= 0) VEC_PUSH(c->arena, &l->ends, id);
  }
  return code;
}

ExitCode language_open_chat(Compile *c, Language *l, const char *page) {
  if (page == NULL) return EXIT_DONE;
  if (l->tokenizer == NULL)
    return complain(EXIT_USER, "--chat makes text of messages, and %s has no tokenizer.json",
                    l->model != NULL ? l->model : "the run");
  if (chat_open(c, page, l->tokenizer, &l->chat)) return add_ends(c, l);
  (void)diags_print(&c->diags, stderr, false);
  return EXIT_USER;
}
