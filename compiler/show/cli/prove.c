/* prove.c -- lockstep prove: proves a plan from its bytes alone. */
#include "compiler/plan/prove/prove.h"

#include <inttypes.h>

#include "compiler/show/cli/cli.h"
#include "runtime/plan/plan_io.h"

static void print_report(const ProveReport *report) {
  enum { INDENT = 14 };
  char text[512];
  snprintf(text, sizeof text,
           "%" PRIu64 " ranks, %" PRIu64 " classes, %" PRIu64 " communicator patterns;   %" PRIu64
           " calls, %" PRIu64 " records, %" PRIu64 " accesses",
           report->ranks, report->classes, report->communicators, report->calls, report->records,
           report->accesses);
  int32_t column = printf("%-*s", INDENT, "proof    ok");
  print_wrapped(stdout, text, column, INDENT, COLUMNS_MOST);
}

ExitCode verb_prove(const Options *options) {
  Plan plan;
  ExitCode code = open_plan(options, &plan);
  if (code != EXIT_DONE) return code;
  static ProveReport report;
  bool proven = prove(&plan, &report);
  if (options->json)
    printf("{\"version\":1,\"proven\":%s,\"findings\":%" PRIu32 ",\"ranks\":%" PRIu64
           ",\"classes\":%" PRIu64 ",\"calls\":%" PRIu64 ",\"records\":%" PRIu64 "}\n",
           proven ? "true" : "false", report.finding_count, report.ranks, report.classes,
           report.calls, report.records);
  else if (proven && !options->quiet)
    print_report(&report);
  for (uint32_t i = 0; i < report.finding_count && i < PROVE_FINDINGS_MAX; i++) {
    print_plain(options->words.at[0], stderr);
    fputs(": ", stderr);
    print_plain(report.finding[i], stderr); /* names of the plan are in it */
    fputc('\n', stderr);
  }
  plan_close(&plan);
  return proven ? EXIT_DONE : EXIT_USER;
}
