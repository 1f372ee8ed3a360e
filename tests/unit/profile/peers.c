/*
 * Files of other tools, with the values that those tools show for them. `make
 * check-peers` asks the tools themselves.
 */
#include "base/file.h"
#include "lib/test.h"
#include "profile/import.h"
#include "profile/tree.h"

#include <fcntl.h>
#include <string.h>

#define PPROF  "go tool pprof of Go 1.24, -top"
#define SCOPE  "speedscope 1.25"
#define FOLDED "flamegraph.pl, FlameGraph 41fee1f"
#define PERF   "stackcollapse-perf.pl, FlameGraph 41fee1f"
#define JFR    "jfr print of OpenJDK 17"
#define OTLP   "protobuf 4.21 of Python, with the messages of opentelemetry-proto"
/* three samples and one sample, of 50 ms each */
#define OTLP_CPU \
	"200000000 nanoseconds 4 inlined=150000000 shop+0x300=50000000 main=0"
#define NAMED 3 /* functions listed in a row */

static const struct row {
	const char *file, *type, *peer;
	const char *want; /* total, unit, samples or "?", largest self values */
} rows[] = {
	{"peer.time.pb", "", PPROF,
         "300000000 nanoseconds ? cold=160000000 hot=140000000 main=0"},
	{"peer.heap.pb", "", PPROF, "3072 bytes 3 hot=2048 cold=1024 main=0"},
	{"peer.heap.pb", "alloc", PPROF " -sample_index=alloc_space",
         "12000 bytes 4 cold=9000 hot=3000 main=0"},
	{"peer.fgprof.pb", "", PPROF,
         "100000000 nanoseconds 10 sleep=90000000 hot=10000000 main=0"},
	{"peer.waits.pb", "", PPROF,
         "11000 nanoseconds 4 lock=7000 chan=4000 main=0"},
	{"peer.node.pb", "", PPROF,
         "10000000 nanoseconds 10 hot=8000000 idle=2000000 main=0"},
	{"peer.datadog.pb", "wall", PPROF " -sample_index=wall-time",
         "11000 nanoseconds ? hot=9000 idle=2000 main=0"},
	{"peer.datadog.pb", "alloc", PPROF, "64 bytes ? hot=64 main=0"},
	{"peer.recursion.pb", "", PPROF, "11 nanoseconds ? f=11 main=0 g=0"},
	{"drop.pb", "", PPROF, "128 nanoseconds ? work=103 y=11 main=7"},
	{"peer.go.heap", "", PPROF ", and the names in the text",
         "1573632 bytes 3073 main.hot=1049088 main.cold=524544 main.main=0"},
	{"peer.go.mutex", "", PPROF ", and the names in the text",
         "2061040444 nanoseconds 25 sync.(*Mutex).Unlock=2060910608 "
         "main.unlock=129836 main.main=0"},
	{"peer.go.goroutine", "", PPROF ", and the names in the text",
         "6 count 6 main.wait=5 main.serve=1 main.main=0"},
	{"peer.contentionz", "", PPROF,
         "608905716 nanoseconds 2800 0xbccc96=608905716 0x42ed5e=0 "
         "0xc61201=0"},
	{"gperftools", "", PPROF,
         "60000000 nanoseconds 6 server+0x1000=30000000 "
         "server+0x1100=20000000 server+0x1200=10000000"},
	{"peer.perf.cycles", "", PERF,
         "10000000 cycles 2 hot=9000000 cold=1000000 main=0"},
	{"peer.perf.events", "", PERF,
         "4000 cycles 2 hot=3000 cold=1000 main=0"},
	{"peer.perf.faults", "", PERF,
         "255 page-faults 2 hot=200 cold=55 main=0"},
	{"peer.perf.timeless", "", PERF, "3 count 3 cold=2 hot=1 main=0"},
	{"peer.perf.lost", "", "perf report 6.1",
         "500000 nanoseconds 2 cold=250000 hot=250000 main=0"},
	{"peer.pyspy", "", SCOPE,
         "12 count 12 b c (x.py:7)=5 a (app.py:12)=4 a (app.py:10)=3"},
	{"peer.marks", "", SCOPE ", without the marks",
         "12 count 12 Foo.baz=7 native_safe_halt=5 Foo.bar=0"},
	{"peer.utf16", "", SCOPE, "15 count 15 höt=10 cold=5 main=0"},
	{"peer.bom", "", SCOPE, "15 count 15 hot=10 cold=5 main=0"},
	{"peer.austin", "", FOLDED,
         "150 count 150 app.py:hot:2=100 app.py:cold:9=50 P1=0"},
	{"peer.fractions", "", FOLDED ", which shows 1, 0.75 and 0.25",
         "1000 thousandths ? hot=750 cold=250 main=0"},
	{"peer.scope.sampled", "", SCOPE,
         "30000000 nanoseconds 3 hot=20000000 cold=10000000 main=0"},
	{"peer.scope.stacks", "", SCOPE,
         "1000000000 nanoseconds ? hot=700000000 cold=300000000 main=0"},
	{"peer.scope.evented", "", SCOPE,
         "9000000 nanoseconds ? main=4500000 hot=3000000 cold=1500000"},
	{"peer.scope.bytes", "", SCOPE,
         "5120 bytes ? hot=4096 cold=1024 main=0"},
	{"v8.cpuprofile", "", SCOPE ", and (idle)",
         "9000000 nanoseconds 10 serve=4300000 (garbage "
         "collector)=2030000 parse=1300000"},
	{"v8.heapprofile", "", SCOPE,
         "593960 bytes ? cache=524304 (anonymous)=65560 (EXTERNAL)=4096"},
	{"otlp.1.7", "", OTLP " v1.7.0", OTLP_CPU},
	{"otlp.1.8", "", OTLP " v1.8.0", OTLP_CPU},
	{"otlp.1.9", "", OTLP " v1.9.0", OTLP_CPU},
	{"otlp.1.11", "", OTLP " v1.11.0", OTLP_CPU},
	{"otlp.dictionary", "", OTLP " v1.11.0, in another order", OTLP_CPU},
	{"otlp.1.7.json", "", OTLP " v1.7.0", OTLP_CPU},
	{"otlp.1.8.json", "", OTLP " v1.8.0", OTLP_CPU},
	{"otlp.1.9.json", "", OTLP " v1.9.0", OTLP_CPU},
	{"otlp.1.11.json", "", OTLP " v1.11.0", OTLP_CPU},
	{"otlp.1.11", "block", OTLP " v1.11.0",
         "3000 nanoseconds 1 shop+0x300=3000 main=0"},
	{"perf.addresses", "", PERF " of Linux 6.1, without -F sym",
         "1000000 cycles 2 0x402000=750000 0x7f0010=250000 0x401000=0"},
	{"perf.nameless", "", PERF " of Linux 6.1, without -F event",
         "1000000 event 2 cold=750000 hot=250000 main=0"},
	{"perfdata", "", "perf report 6.1",
         "3000500 nanoseconds 3 work+0x1100=3000000 "
         "[kernel.kallsyms]+0x10=500 work+0x1fff=0"},
	{"perfdata.events", "", "perf report 6.1",
         "10000000 cycles 2 work+0x1100=9000000 work+0x1200=1000000"},
	{"jfr", "", JFR ", samples of 20 ms",
         "60000000 nanoseconds 3 com.shop.Cart.price=40000000 "
         "com.shop.Cart.total=20000000 java.lang.Thread.run=0"},
	{"jfr", "alloc", JFR,
         "370000 bytes 2 com.shop.Cart.total=300000 "
         "com.shop.Cart.price=70000 java.lang.Thread.run=0"},
	{"jfr", "block", JFR ", jdk.ThreadPark",
         "25000000 nanoseconds 1 com.shop.Cart.total=25000000 "
         "java.lang.Thread.run=0"},
	{"jfr", "mutex", JFR ", jdk.JavaMonitorEnter",
         "1500000 nanoseconds 1 com.shop.Cart.total=1500000 "
         "java.lang.Thread.run=0"},
	{"heap.jemalloc", "", "jeprof of jemalloc 5.3",
         "3185355 bytes 2099 server+0x1000=3185355 server+0x1100=0 "
         "server+0x1200=0"},
	{"callgrind.parts", "", "callgrind_annotate of Valgrind 3.19",
         "3000 Ir ? work=2700 main=300"},
	{"callgrind", "", "callgrind_annotate of Valgrind 3.19",
         "1000 Ir ? read=300 write=300 backup=200"},
};

static int
import(const struct row *row, struct profile **out, struct buf *why)
{
	const struct import_ask ask = {
		.type = row->type,
		.content_type = "",
		.limits = {1 << 20, 4 << 20, 200, 2000, 2000},
	};
	CLEANUP_BUF struct buf in = BUF_INIT(1 << 20);
	const struct input *format;
	const struct type *type;
	char path[128];

	snprintf(path, sizeof(path), "tests/data/fuzz/import/%s", row->file);
	ck_assert_int_eq(file_read(AT_FDCWD, path, &in), 0);
	return profile_import(in.p, in.len, &ask, out, &format, &type, why);
}

static void
put_values(const struct tree *t, struct buf *out)
{
	CLEANUP_FREE struct top_entry *top = NULL;
	const struct profile *p = t->profile;
	uint32_t n;

	buf_addf(out, "%lld %s", (long long)t->total[0],
	         profile_text(p, p->types[t->type].unit));
	if (t->counted)
		buf_addf(out, " %lld", (long long)t->total_samples);
	else
		buf_puts(out, " ?");
	ck_assert_int_eq(tree_top(t, NAMED, &top, &n), 0);
	for (uint32_t i = 0; i < n; i++)
		buf_addf(out, " %s=%lld", tree_name(t, top[i].name, NULL),
		         (long long)top[i].self);
}

TEST(files_of_other_tools_have_the_values_that_these_tools_show)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_PROFILE struct profile *p = NULL;
		CLEANUP_TREE struct tree *t = NULL;

		ck_assert_msg(!import(&rows[i], &p, &why), "%s: %s",
		              rows[i].file, buf_str(&why));
		ck_assert_int_eq(
			tree_functions(p, profile_type_index(p, NULL), &t), 0);
		put_values(t, &got);
		ck_assert_msg(!strcmp(buf_str(&got), rows[i].want),
		              "%s: %s; %s shows %s", rows[i].file,
		              buf_str(&got), rows[i].peer, rows[i].want);
	}
}
END

SUITE("peers");
