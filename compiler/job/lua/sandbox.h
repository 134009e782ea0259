/* sandbox.h -- Lua 5.4 as a configuration language: text only, no I/O, no globals, limited memory
 * and instructions.
 *
 * Inside there are: math (floor ceil min max sqrt huge), ipairs, type, tostring, tonumber,
 * select, assert, error, string.format/rep/sub, and what the room adds. No pairs, patterns, pcall,
 * require, io, os, setmetatable. */
#ifndef LOCKSTEP_SANDBOX_H
#define LOCKSTEP_SANDBOX_H

#include <lua.h>

#include "compiler/base/base.h"

/* A state with the sandbox's environment table at registry key "env"; 64 MiB, 20 million
 * instructions. Freed by sandbox_close on every path. */
lua_State *sandbox_open(Compile *c);
void sandbox_close(lua_State *L);

/* Adds a function or the value on top of the stack to the environment. */
void sandbox_add_function(lua_State *L, const char *name, lua_CFunction function);
void sandbox_add_value(lua_State *L, const char *name);

/* Runs a file and leaves its one result on the stack. False when reported: syntax, run-time error,
 * no file, a limit -- each with the file's line, never a traceback. `at`: who names the file. */
bool sandbox_run_file(Compile *c, lua_State *L, const char *path, Span at);

/* The same for one expression; errors are reported at `at`. */
bool sandbox_run_value(Compile *c, lua_State *L, const char *expression, Span at);

/* Calls the function below its `arguments` on the stack, with one result. The same promises. */
bool sandbox_call(Compile *c, lua_State *L, int arguments, Span at);

/* Counts instructions and memory anew, and collects garbage: for a function that is called for one
 * input after another. */
void sandbox_renew(lua_State *L);

/* Line of the innermost Lua function that is running a file (for spans of model calls). */
Span sandbox_where(lua_State *L);

/* Raises a diagnostic from inside a C function called by Lua: sandbox_run_file / sandbox_call
 * report it. */
int sandbox_error(lua_State *L, const char *name, const char *fix, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* "h100" -> specs/KIND/h100.lua, "./x.lua" -> beside `directory`. NULL when it does not exist
 * (reported, with the nearest name of the library). */
const char *sandbox_find(Compile *c, const char *kind, const char *name, const char *directory,
                         Span at);

#endif
