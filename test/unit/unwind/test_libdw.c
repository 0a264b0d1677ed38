// SPDX-License-Identifier: MIT
/*
 * The tables of real objects against libdw, at every address of their code. libdw hands out the
 * rules of a range as DWARF expressions. Both sides then take the same step, from the same
 * registers and over the same made-up memory, and must arrive at the same pc, sp and bp.
 *
 * Where they may differ:
 *   - rules that arch/unwind.h has no words for are UNKNOWN: a CFA that counts from another
 * register than rsp, rbp and rbx, a return address that is not at CFA - 8, an offset of more than
 * 16 bits;
 *   - up to 15 bytes between functions go on as the function before them;
 *   - startup code, which we know by its bytes;
 *   - the byte before a signal's stub, the stub itself, and the entry point of a program.
 *
 * With arguments, compares those files and prints what it counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* The memory that both sides read: any address has a value, which lies above every stack. */
static inline int fake_read(void *ctx, unsigned long long addr, unsigned long long *ret)
{
	*ret = 0x7f0000000000ull + (addr * 0x9e3779b97f4a7c15ull >> 32);
	return 0;
}
#define UNWIND_READ(ctx, addr, ret) fake_read(ctx, addr, ret)

#include "base/err.h"
#include "elf/cfi.h"
#include "unwind/table.h"

#define SP 0x100000ull
#define BP 0x900000ull
#define BX 0x500000ull
#define DI 0x1234567890ull

struct counts {
	uint64_t addresses, rows, gaps, unknown, signals, entries, startup, wrong;
};

struct expected {
	Dwarf_Op *cfa;
	size_t n_cfa;
	Dwarf_Op *ra, *bp;
	size_t n_ra, n_bp;
	Dwarf_Op ra_mem[3], bp_mem[3];
	bool signal;
};

struct stack {
	uint64_t v[64];
	size_t n;
};

static void push(struct stack *s, uint64_t v)
{
	assert_true(s->n < 64);
	s->v[s->n++] = v;
}

static uint64_t pop(struct stack *s)
{
	assert_true(s->n > 0);
	return s->v[--s->n];
}

static bool push_reg(struct stack *s, unsigned reg, uint64_t off, uint64_t pc)
{
	if (reg != CFI_RSP && reg != CFI_RBP && reg != CFI_RBX && reg != CFI_RA)
		return false;
	push(s, off + (reg == CFI_RSP ? SP : reg == CFI_RBP ? BP : reg == CFI_RBX ? BX : pc));
	return true;
}

static bool run_op(struct stack *s, const Dwarf_Op *op, uint64_t pc, uint64_t cfa)
{
	unsigned long long word;
	uint64_t top;

	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		push(s, op->atom - DW_OP_lit0);
		return true;
	}
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return push_reg(s, op->atom - DW_OP_breg0, op->number, pc);
	switch (op->atom) {
	case DW_OP_bregx:
		return push_reg(s, (unsigned)op->number, op->number2, pc);
	case DW_OP_call_frame_cfa:
		push(s, cfa);
		return true;
	case DW_OP_deref:
		fake_read(NULL, pop(s), &word);
		push(s, word);
		return true;
	case DW_OP_plus_uconst:
		push(s, pop(s) + op->number);
		return true;
	}
	if (s->n < 2)
		return false;
	top = pop(s);
	switch (op->atom) {
	case DW_OP_and:
		push(s, pop(s) & top);
		return true;
	case DW_OP_ge:
		push(s, (int64_t)pop(s) >= (int64_t)top);
		return true;
	case DW_OP_shl:
		push(s, pop(s) << top);
		return true;
	case DW_OP_plus:
		push(s, pop(s) + top);
		return true;
	}
	return false;
}

/* An expression's value; false if it uses what a table cannot say. */
static bool evaluate(const Dwarf_Op *ops, size_t n, uint64_t pc, uint64_t cfa, uint64_t *ret)
{
	struct stack s = {0};

	for (size_t i = 0; i < n; i++)
		if (!run_op(&s, &ops[i], pc, cfa))
			return false;
	if (!s.n)
		return false;
	*ret = pop(&s);
	return true;
}

static bool is_undefined(const Dwarf_Op *ops, size_t n)
{
	return !n && ops;
}

static bool at_return_address(const struct expected *x)
{
	return x->n_ra == 2 && x->ra[0].atom == DW_OP_call_frame_cfa &&
	       x->ra[1].atom == DW_OP_plus_uconst && (int64_t)x->ra[1].number == -8;
}

/* As in vfork(). */
static bool in_rdi(const struct expected *x)
{
	return x->n_ra == 1 && (x->ra[0].atom == DW_OP_reg5 ||
				(x->ra[0].atom == DW_OP_regx && x->ra[0].number == 5));
}

/* False: they disagree. */
static bool same_step(const struct expected *x, struct unwind_rule rule, uint64_t pc,
		      struct counts *n)
{
	struct unwind_regs regs = {.pc = pc, .sp = SP, .bp = BP, .di = DI, .bx = BX, .exact = 1};
	uint64_t cfa, bp = BP, at = 0;
	unsigned long long ra, word;
	bool have_bp = true;

	if (is_undefined(x->ra, x->n_ra))
		return rule.cfa == UNWIND_CFA_END;
	if (!evaluate(x->cfa, x->n_cfa, pc, 0, &cfa) || (!at_return_address(x) && !in_rdi(x))) {
		n->unknown++;
		return rule.cfa == UNWIND_CFA_UNKNOWN;
	}
	fake_read(NULL, cfa - 8, &ra);
	if (in_rdi(x))
		ra = DI;
	if (x->n_bp) {
		/* libdw puts the CFA below whatever an expression says. */
		have_bp = x->bp[x->n_bp - 1].atom != DW_OP_breg0 + CFI_RSP &&
			  evaluate(x->bp, x->n_bp, pc, cfa, &at);
		fake_read(NULL, at, &word);
		bp = word;
	} else if (x->bp) {
		have_bp = false;
	}
	return unwind_apply(NULL, &rule, &regs) == UNWIND_STOP_NONE && regs.pc == ra &&
	       regs.sp == cfa && regs.no_bp == !have_bp && (!have_bp || regs.bp == bp);
}

static void complain(struct counts *n, const char *name, uint64_t pc, bool found,
		     struct unwind_rule rule, const char *what)
{
	if (n->wrong++ < 10)
		fprintf(stderr, "%s: %#lx: %s; ours: %s cfa %u %+d %+d rbp %u %+d\n", name, pc,
			what, found ? "" : "nothing", rule.cfa, rule.cfa_off, rule.cfa_add,
			rule.rbp, rule.rbp_off);
}

/* Every address of one of libdw's rows; the same rule again need not be tried again. */
static void compare_row(const struct unwind_table *t, const char *name, uint64_t entry,
			const struct expected *x, uint64_t begin, uint64_t end, struct counts *n)
{
	struct unwind_rule last = {0}, rule;

	for (uint64_t pc = begin; pc < end; pc++) {
		n->addresses++;
		memset(&rule, 0, sizeof(rule));
		if (!unwind_table_find(t, pc, &rule)) {
			complain(n, name, pc, false, rule, "libdw knows a rule");
			continue;
		}
		if (pc > begin && rule.cfa != UNWIND_CFA_PLT && !memcmp(&rule, &last, sizeof(rule)))
			continue;
		last = rule;
		if (rule.cfa == UNWIND_CFA_SIGNAL) {
			n->signals++;
			if (!x->signal)
				complain(n, name, pc, true, rule, "libdw sees no signal frame");
		} else if (rule.cfa == UNWIND_CFA_END && pc >= entry && begin - entry < 4096 &&
			   !is_undefined(x->ra, x->n_ra)) {
			n->entries++;
		} else if (!same_step(x, rule, pc, n)) {
			complain(n, name, pc, true, rule, "libdw takes another step");
		}
	}
}

/* The steps of code that comes without information: _init, _fini and crtbegin.o's. */
static bool is_startup(const struct unwind_rule *rule, struct counts *n)
{
	bool bare = rule->cfa == UNWIND_CFA_RSP && (rule->cfa_off == 8 || rule->cfa_off == 16);
	bool frame = rule->cfa == UNWIND_CFA_RBP && rule->cfa_off == 16 && rule->rbp_off == -16;

	return (bare || frame) && ++n->startup <= 512;
}

/* Without a rule of libdw's: alignment after a function, or nothing. */
static void compare_gap(const struct unwind_table *t, const char *name, uint64_t entry,
			uint64_t begin, uint64_t end, struct counts *n)
{
	struct unwind_rule rule = {0};

	if (begin < entry && entry < end) {
		compare_gap(t, name, entry, begin, entry, n);
		begin = entry;
	}
	for (uint64_t pc = begin; pc < end; pc++) {
		n->addresses++;
		if (!unwind_table_find(t, pc, &rule))
			continue;
		n->gaps++;
		if (rule.cfa == UNWIND_CFA_SIGNAL && pc == end - 1)
			continue;
		if (rule.cfa == UNWIND_CFA_END && pc >= entry && pc - entry < 64)
			continue;
		/* Startup code, which is little. */
		if (end - begin > UNWIND_GAP_MAX && !is_startup(&rule, n))
			complain(n, name, pc, true, rule, "libdw knows nothing");
	}
}

static bool libdw_row(Dwarf_CFI *cfi, uint64_t pc, Dwarf_Frame **ret, struct expected *x,
		      uint64_t *ret_end)
{
	Dwarf_Addr begin, end;

	if (dwarf_cfi_addrframe(cfi, pc, ret))
		return false;
	if (dwarf_frame_info(*ret, &begin, &end, &x->signal) < 0 || begin > pc || end <= pc)
		fail_msg("libdw is confused at %#lx", pc);
	*ret_end = end;
	/* An expression that libdw refuses to hand out is one that we must not know. */
	if (dwarf_frame_cfa(*ret, &x->cfa, &x->n_cfa))
		x->n_cfa = 0;
	if (dwarf_frame_register(*ret, CFI_RA, x->ra_mem, &x->ra, &x->n_ra) ||
	    dwarf_frame_register(*ret, CFI_RBP, x->bp_mem, &x->bp, &x->n_bp))
		fail_msg("libdw has no rule at %#lx", pc);
	return true;
}

static struct counts compare(const char *name, const struct elf *e, Dwarf_CFI *cfi)
{
	struct unwind_table *t;
	struct counts n = {0};
	uint64_t pc, end, gap, entry = UINT64_MAX;

	if (unwind_table_build(e, &t))
		fail_msg("%s: %s", name, err_msg());
	assert_true(elf_text_range(e, &pc, &end));
	(void)cfi_entry_point(e, &entry);
	for (gap = pc; pc < end;) {
		struct expected x;
		Dwarf_Frame *frame;
		uint64_t next;

		if (!libdw_row(cfi, pc, &frame, &x, &next)) {
			pc++;
			continue;
		}
		n.rows++;
		compare_gap(t, name, entry, gap, pc, &n);
		compare_row(t, name, entry, &x, pc, next, &n);
		free(frame);
		gap = pc = next;
	}
	compare_gap(t, name, entry, gap, end, &n);
	unwind_table_free(t);
	return n;
}

/* By .debug_frame, if there is nothing else. */
static struct counts compare_elf(const char *name, const struct elf *e, Elf *theirs)
{
	bool debug = !elf_section(e, ".eh_frame") && elf_section(e, ".debug_frame");
	Dwarf *dw = debug ? dwarf_begin_elf(theirs, DWARF_C_READ, NULL) : NULL;
	Dwarf_CFI *cfi = debug ? dwarf_getcfi(dw) : dwarf_getcfi_elf(theirs);
	struct counts n;

	assert_non_null(cfi);
	n = compare(name, e, cfi);
	/* The one of .debug_frame goes with its Dwarf. */
	if (!debug)
		dwarf_cfi_end(cfi);
	dwarf_end(dw);
	return n;
}

static struct counts compare_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct counts n;
	struct elf *e;
	Elf *theirs;

	assert_true(fd >= 0);
	elf_version(EV_CURRENT);
	theirs = elf_begin(fd, ELF_C_READ, NULL);
	assert_non_null(theirs);
	assert_int_equal(elf_open_fd(fd, &e), 0);
	n = compare_elf(path, e, theirs);
	elf_free(e);
	elf_end(theirs);
	close(fd);
	return n;
}

static void check(const char *path, uint64_t rows_at_least)
{
	struct counts n;

	if (access(path, R_OK)) {
		print_message("%s is not here: not compared\n", path);
		return;
	}
	n = compare_file(path);
	print_message("%s: %lu addresses, %lu rows of libdw's, %lu unknown\n", path, n.addresses,
		      n.rows, n.unknown);
	assert_int_equal(n.wrong, 0);
	/* Neither side may have got away with knowing nothing. */
	assert_true(n.rows >= rows_at_least);
	assert_true(n.unknown * 100 <= n.rows);
}

#define LIB "/usr/lib/x86_64-linux-gnu/"

static void test_libc(void **state)
{
	check(LIB "libc.so.6", 20000);
}

static void test_libstdcxx(void **state)
{
	check(LIB "libstdc++.so.6", 20000);
}

static void test_libcrypto(void **state)
{
	check(LIB "libcrypto.so.3", 50000);
}

static void test_dynamic_linker(void **state)
{
	check("/lib64/ld-linux-x86-64.so.2", 1000);
}

static void test_programs(void **state)
{
	check("/usr/bin/git", 10000);
	check("/usr/bin/python3", 10000);
	check("/usr/bin/true", 100);
}

static void test_ourselves(void **state)
{
	check("/proc/self/exe", 100);
}

static void test_vdso(void **state)
{
	const Elf64_Ehdr *h = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct counts n;
	struct elf *e;
	Elf *theirs;
	size_t size;

	if (!h)
		skip();
	size = h->e_shoff + (size_t)h->e_shnum * h->e_shentsize;
	elf_version(EV_CURRENT);
	theirs = elf_memory((char *)h, size);
	assert_non_null(theirs);
	assert_int_equal(elf_open_bytes(h, size, &e), 0);
	n = compare_elf("vdso", e, theirs);
	print_message("vdso: %lu addresses, %lu rows of libdw's\n", n.addresses, n.rows);
	assert_int_equal(n.wrong, 0);
	assert_true(n.rows > 10);
	elf_free(e);
	elf_end(theirs);
}

static int compare_arguments(int argc, char **argv)
{
	uint64_t wrong = 0;

	for (int i = 1; i < argc; i++) {
		struct counts n = compare_file(argv[i]);

		printf("%s: addresses %lu rows %lu gaps %lu unknown %lu signals %lu entries %lu "
		       "wrong %lu\n",
		       argv[i], n.addresses, n.rows, n.gaps, n.unknown, n.signals, n.entries,
		       n.wrong);
		wrong += n.wrong;
	}
	return wrong != 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libc),	  cmocka_unit_test(test_libstdcxx),
		cmocka_unit_test(test_libcrypto), cmocka_unit_test(test_dynamic_linker),
		cmocka_unit_test(test_programs),  cmocka_unit_test(test_ourselves),
		cmocka_unit_test(test_vdso),
	};

	if (argc > 1)
		return compare_arguments(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
