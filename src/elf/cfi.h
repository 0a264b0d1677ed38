/* SPDX-License-Identifier: MIT */
/*
 * Call frame information: what .eh_frame and .debug_frame say about getting from a frame to its
 * caller's, on x86-64. A section is a list of entries. A CIE holds what many functions share and
 * the rules at their first instruction; an FDE names a range of code, its CIE, and a program that
 * changes the rules as the code goes on. Running the program gives rows: [begin, end) and its
 * rules.
 *
 * Only what an unwinder needs is kept: the CFA (the stack pointer before the call), and where the
 * caller's rbp, its rbx and the return address are. Expressions are not evaluated but recognised by
 * shape. What is not recognised becomes UNKNOWN, in its rows and for its register only.
 *
 * The bytes may be hostile. Entries are walked once to collect the CIEs, whose programs run once,
 * and once to hand out the FDEs, whose programs run when somebody asks for rows: all of it takes
 * time in proportion to the section, however the entries refer to each other. A damaged entry is
 * skipped; a damaged program gives UNKNOWN from there to the end of its function; an entry whose
 * length leaves the section ends the walk.
 */
#ifndef THAW_ELF_CFI_H
#define THAW_ELF_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/host.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "elf/elf.h"

#define CFI_SECTION_MAX (128u << 20)
#define CFI_CIES_MAX (1u << 18)
#define CFI_STATES_MAX 32u /* of DW_CFA_remember_state; compilers use one or two */

/* DWARF's numbers of registers. */
#define CFI_RBX ARCH_DWARF_BX
#define CFI_RBP ARCH_DWARF_BP
#define CFI_RSP ARCH_DWARF_SP
#define CFI_RA ARCH_DWARF_RETURN

enum cfi_cfa {
	CFI_CFA_UNKNOWN,
	CFI_CFA_REG,   /* cfa_reg + cfa_off */
	CFI_CFA_DEREF, /* *(cfa_reg + cfa_off) + cfa_add; cfa_reg is rsp or rbp */
	CFI_CFA_PLT,   /* rsp + 8 + ((rip & 15) >= cfa_off) * 8 */
};

enum cfi_where {
	CFI_WHERE_UNKNOWN,
	CFI_WHERE_SAME,	     /* not changed */
	CFI_WHERE_RDI,	     /* of the return address: in rdi, in vfork() */
	CFI_WHERE_UNDEFINED, /* there is none: of the return address, the outermost frame */
	CFI_WHERE_AT_CFA,    /* *(cfa + off) */
	CFI_WHERE_AT_RBP,    /* *(rbp + off) */
};

struct cfi_rules {
	uint8_t cfa; /* enum cfi_cfa */
	uint8_t rbp; /* enum cfi_where, as are the next two */
	uint8_t rbx;
	uint8_t ra;
	bool sp_is_cfa; /* the caller's rsp is the CFA: false in odd assembler only */
	uint32_t cfa_reg;
	int64_t cfa_off, cfa_add;
	int64_t rbp_off, rbx_off, ra_off;
};

struct cfi_cie {
	uint64_t offset; /* in the section */
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding; /* DW_EH_PE_* of addresses in its FDEs */
	bool usable;	  /* we understand it */
	bool sized;	  /* its FDEs say how long their augmentation is */
	bool signal;	  /* the frame of a signal handler's caller */
	struct cfi_rules initial;
};

struct cfi {
	struct buf bytes;
	bool debug;	     /* .debug_frame, not .eh_frame */
	uint64_t addr;	     /* of the section */
	uint64_t text, data; /* what DW_EH_PE_textrel and datarel count from */
	struct cfi_cie *cies;
	size_t n_cies;
	size_t pos; /* of the walk over the FDEs */
	size_t last_cie;
};

struct cfi_fde {
	uint64_t begin, end;
	const struct cfi_cie *cie;
	uint32_t program, program_len; /* in the section */
};

struct cfi_row {
	uint64_t begin, end;
	struct cfi_rules rules;
};

/* The running of one FDE's program. */
struct cfi_rows {
	const struct cfi *cfi;
	const struct cfi_cie *cie;
	struct cursor program;
	uint32_t program_at;
	uint64_t at, end;
	uint64_t next; /* where the last advance has led */
	struct cfi_rules now;
	struct cfi_rules stack[CFI_STATES_MAX];
	unsigned depth;
};

/* -ENODATA if the file has no such section, or an empty one. cfi_done() afterwards. */
int cfi_open(const struct elf *e, bool debug, struct cfi *ret);
void cfi_done(struct cfi *c);

/* The FDEs in the order of the section; each is not empty and does not wrap. False: no more. */
bool cfi_next(struct cfi *c, struct cfi_fde *ret);

/* The rows of an FDE: without gaps from its start to its end, none of them empty. */
void cfi_rows_init(struct cfi_rows *r, const struct cfi *c, const struct cfi_fde *fde);
bool cfi_rows_next(struct cfi_rows *r, struct cfi_row *ret);

/* The address at which the program begins, as the ELF header says; false if it does not. */
bool cfi_entry_point(const struct elf *e, uint64_t *ret);

/* ---- for tests and fuzzers ---- */

/* As cfi_open(), for bytes in hand, which are copied. */
int cfi_open_bytes(const void *bytes, size_t len, uint64_t addr, bool debug, struct cfi *ret);

#endif
