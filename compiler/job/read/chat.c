/* chat.c -- runs a chat page for one conversation after another. */
#include "compiler/job/chat.h"

#include <lauxlib.h>
#include <lua.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/job/lua/sandbox.h"

enum { PIECES_MAX = 1 << 16 };

typedef struct ChatPage {
  Compile *c;
  lua_State *L; /* the page's function at 1; the last answer at 2, whose texts the pieces are */
  const char *path;
  DocumentPiece *piece;
  int32_t room;
} ChatPage;

/* has("NAME"): upvalue 1 is the tokenizer. */
static int has_token(lua_State *L) {
  const Tokenizer *tokenizer = lua_touserdata(L, lua_upvalueindex(1));
  lua_pushboolean(L, tokenizer_id(tokenizer, luaL_checkstring(L, 1)) >= 0);
  return 1;
}

static void push_message(lua_State *L, const DocumentMessage *message) {
  lua_createtable(L, 0, 3);
  lua_pushstring(L, message->role);
  lua_setfield(L, -2, "role");
  if (!message->content) return;
  lua_pushstring(L, message->content);
  lua_setfield(L, -2, "content");
  const char *at = message->content + strspn(message->content, " \t\r\n\v\f");
  size_t count = strlen(at);
  while (count > 0 && strchr(" \t\r\n\v\f", at[count - 1]))
    count--;
  lua_pushlstring(L, at, count);
  lua_setfield(L, -2, "trimmed");
}

static bool refuse(const ChatPage *page, char why[TOKENS_WHY_BYTES], const char *what) {
  (void)snprintf(why, TOKENS_WHY_BYTES, "the chat page %.160s %s", page->path, what);
  return false;
}

/* The piece on top of the stack, which is popped: the answer keeps its text. */
static bool read_piece(ChatPage *page, DocumentPiece *piece, char why[TOKENS_WHY_BYTES]) {
  lua_State *L = page->L;
  bool is_table = lua_istable(L, -1);
  *piece = (DocumentPiece){0};
  if (is_table) {
    lua_getfield(L, -1, "train");
    piece->is_target = lua_toboolean(L, -1);
    lua_getfield(L, -2, "special");
    piece->is_special = lua_isstring(L, -1);
    if (!piece->is_special) lua_getfield(L, -3, "text");
    piece->text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    lua_pop(L, piece->is_special ? 2 : 3);
  }
  lua_pop(L, 1);
  return piece->text || refuse(page, why,
                               "gives a piece that has neither text nor special: a message without "
                               "content cannot be in the middle");
}

static bool make_room(ChatPage *page, int32_t count) {
  if (count <= page->room) return true;
  DocumentPiece *piece = realloc(page->piece, (size_t)(2 * count) * sizeof *piece);
  if (!piece) return false;
  page->piece = piece, page->room = 2 * count;
  return true;
}

/* Moves the last diagnostic into `why`, because the caller names the line of the documents. */
static bool take_report(ChatPage *page, char why[TOKENS_WHY_BYTES]) {
  Diags *diags = &page->c->diags;
  const Diag *diag = &diags->list.at[--diags->list.count];
  (void)snprintf(why, TOKENS_WHY_BYTES, "%.160s:%d: %.300s",
                 diag->span.file ? diag->span.file : page->path, diag->span.line, diag->message);
  diags->error_count--;
  return false;
}

static bool chat_pieces(void *user, const DocumentMessage *messages, int32_t count,
                        const DocumentPiece **pieces, int32_t *piece_count,
                        char why[TOKENS_WHY_BYTES]) {
  ChatPage *page = user;
  lua_State *L = page->L;
  lua_settop(L, 1);
  sandbox_renew(L);
  lua_pushvalue(L, 1);
  lua_createtable(L, count, 0);
  for (int32_t i = 0; i < count; i++) {
    push_message(L, &messages[i]);
    lua_rawseti(L, -2, i + 1);
  }
  if (!sandbox_call(page->c, L, 1, (Span){.file = page->path})) return take_report(page, why);
  if (!lua_istable(L, 2)) return refuse(page, why, "returns no list of pieces");
  size_t length = lua_rawlen(L, 2);
  if (length > PIECES_MAX) return refuse(page, why, "returns too many pieces");
  if (!make_room(page, (int32_t)length)) return refuse(page, why, "needs more memory");
  *piece_count = (int32_t)length;
  *pieces = page->piece;
  for (int32_t i = 0; i < *piece_count; i++) {
    lua_rawgeti(L, 2, i + 1);
    if (!read_piece(page, &page->piece[i], why)) return false;
  }
  return true;
}

bool chat_open(Compile *c, const char *name, const Tokenizer *tokenizer, DocumentChat *chat) {
  *chat = (DocumentChat){0};
  const char *path = sandbox_find(c, "chat", name, ".", (Span){0});
  if (!path) return false;
  ChatPage *page = ARENA_NEW(c->arena, ChatPage);
  *page = (ChatPage){.c = c, .L = sandbox_open(c), .path = path};
  *chat = (DocumentChat){page, chat_pieces};
  lua_pushlightuserdata(page->L, (void *)(uintptr_t)tokenizer);
  lua_pushcclosure(page->L, has_token, 1);
  sandbox_add_value(page->L, "has");
  if (!sandbox_run_file(c, page->L, path, (Span){0})) return false;
  return lua_isfunction(page->L, 1) ||
         error_at(c, (Span){.file = path}, "not-a-chat-page",
                  "the file returns no function from messages to pieces");
}

void chat_close(DocumentChat *chat) {
  ChatPage *page = chat->user;
  if (!page) return;
  sandbox_close(page->L);
  free(page->piece);
  *chat = (DocumentChat){0};
}
