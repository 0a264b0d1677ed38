// SPDX-License-Identifier: MIT
/* The ELF reader on files that are whole, and its words about those that it refuses. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/err.h"
#include "elf/elf.h"
#include "unit/elf/tiny.h"

static const struct tiny_sym two[] = {
	{"alpha", 0x10, 0x20, STT_FUNC, STB_GLOBAL},
	{"beta", 0x40, 0x10, STT_FUNC, STB_LOCAL},
};

static struct elf *open_tiny(const struct tiny *t)
{
	struct elf *e = NULL;

	assert_int_equal(elf_open_bytes(t->bytes, t->len, &e), 0);
	return e;
}

static void test_whole_file(void **state)
{
	uint64_t at, begin, end;
	struct elf_symtab st;
	struct elf_symbol sym;
	uint8_t id[20];
	struct tiny t;
	struct elf *e;

	tiny_make(&t, two, 2);
	e = open_tiny(&t);
	assert_int_equal(e->n_segments, 2);
	assert_int_equal(e->n_sections, TINY_SHNUM);
	assert_ptr_equal(elf_section(e, ".text"), &e->sections[TINY_SH_TEXT]);
	assert_null(elf_section(e, ".data"));
	assert_int_equal(elf_build_id(e, id, sizeof(id)), 20);
	assert_memory_equal(id, tiny_id, 20);
	assert_int_equal(elf_build_id(e, id, 19), -ENOBUFS);

	assert_true(elf_offset_to_vaddr(e, TINY_TEXT + 5, &at));
	assert_int_equal(at, TINY_VADDR + 5);
	assert_true(elf_vaddr_to_offset(e, TINY_VADDR + TINY_TEXT_SIZE - 1, &at));
	assert_int_equal(at, TINY_TEXT + TINY_TEXT_SIZE - 1);
	assert_false(elf_vaddr_to_offset(e, TINY_VADDR + TINY_TEXT_SIZE, &at));
	assert_false(elf_offset_to_vaddr(e, TINY_TEXT - 1, &at));
	assert_true(elf_text_range(e, &begin, &end));
	assert_int_equal(begin, TINY_VADDR);
	assert_int_equal(end, TINY_VADDR + TINY_TEXT_SIZE);

	assert_int_equal(elf_symtab_open(e, SHT_DYNSYM, &st), -ENODATA);
	assert_int_equal(elf_symtab_open(e, SHT_SYMTAB, &st), 0);
	assert_true(elf_symtab_next(&st, &sym)); /* the null symbol */
	for (int i = 0; i < 2; i++) {
		assert_true(elf_symtab_next(&st, &sym));
		assert_string_equal((char *)st.strings.p + sym.name, two[i].name);
		assert_int_equal(sym.value, TINY_VADDR + two[i].at);
		assert_int_equal(sym.size, two[i].size);
		assert_int_equal(sym.bind, two[i].bind);
	}
	assert_false(elf_symtab_next(&st, &sym));
	assert_int_equal(st.rc, 0);
	elf_symtab_done(&st);
	elf_free(e);
}

static void refused(const struct tiny *t, size_t len, int rc, const char *words)
{
	struct elf *e = NULL;

	err_clear();
	assert_int_equal(elf_open_bytes(t->bytes, len, &e), rc);
	assert_null(e);
	if (!strstr(err_msg(), words))
		fail_msg("'%s' does not say '%s'", err_msg(), words);
}

static void test_refusals_say_why(void **state)
{
	struct tiny t;

	tiny_make(&t, two, 2);
	refused(&t, 0, -ENOEXEC, "not an ELF file");
	refused(&t, 63, -ENOEXEC, "not an ELF file");
	t.eh->e_ident[EI_CLASS] = ELFCLASS32;
	refused(&t, t.len, -EOPNOTSUPP, "32-bit");
	t.eh->e_ident[EI_CLASS] = ELFCLASS64;
	t.eh->e_ident[EI_DATA] = ELFDATA2MSB;
	refused(&t, t.len, -EOPNOTSUPP, "big-endian");
	t.eh->e_ident[EI_DATA] = ELFDATA2LSB;
	t.eh->e_machine = EM_AARCH64;
	refused(&t, t.len, -EOPNOTSUPP, "machine 183");
	t.eh->e_machine = EM_X86_64;
	t.eh->e_phnum = 0xffff;
	refused(&t, t.len, -EBADMSG, "65535 program headers");
	t.eh->e_phnum = 2;
	t.eh->e_phoff = UINT64_MAX - 8;
	refused(&t, t.len, -EBADMSG, "program headers");
	t.eh->e_ident[0] = 'x';
	refused(&t, t.len, -ENOEXEC, "not an ELF file");
}

static void test_without_section_headers(void **state)
{
	struct elf_symtab st;
	uint8_t id[20];
	struct tiny t;
	struct elf *e;

	tiny_make(&t, two, 2);
	t.eh->e_shoff = t.len + 1; /* as a file that was cut short */
	e = open_tiny(&t);
	assert_int_equal(e->n_sections, 0);
	assert_int_equal(elf_build_id(e, id, sizeof(id)), 20);
	assert_int_equal(elf_symtab_open(e, SHT_SYMTAB, &st), -ENODATA);
	elf_free(e);
}

static void test_build_id_from_section_only(void **state)
{
	uint8_t id[20];
	struct tiny t;
	struct elf *e;

	tiny_make(&t, two, 2);
	t.eh->e_phnum = 1;
	e = open_tiny(&t);
	assert_int_equal(elf_build_id(e, id, sizeof(id)), 20);
	elf_free(e);
	t.note[12] = 'X'; /* a note of somebody else's */
	e = open_tiny(&t);
	assert_int_equal(elf_build_id(e, id, sizeof(id)), -ENODATA);
	elf_free(e);
}

/* gcc puts .note.gnu.property (aligned to 8) and the build id into one area now and then. */
static void test_build_id_behind_another_note(void **state)
{
	static const uint8_t notes[] = "\4\0\0\0\3\0\0\0\5\0\0\0GNU\0abc\0\0\0\0\0"
				       "\4\0\0\0\3\0\0\0\3\0\0\0GNU\0xyz";
	uint8_t id[20];
	struct tiny t;
	struct elf *e;

	tiny_make(&t, two, 2);
	memcpy(t.bytes + 0x200, notes, sizeof(notes) - 1);
	t.ph[1].p_offset = 0x200;
	t.ph[1].p_filesz = sizeof(notes) - 1;
	t.ph[1].p_align = 8;
	e = open_tiny(&t);
	assert_int_equal(elf_build_id(e, id, sizeof(id)), 3);
	assert_memory_equal(id, "xyz", 3);
	elf_free(e);
}

static void test_executable_segment_answers_first(void **state)
{
	uint64_t at;
	struct tiny t;
	struct elf *e;

	tiny_make(&t, two, 2);
	t.ph[1] = t.ph[0];
	t.ph[0].p_flags = PF_R;
	t.ph[0].p_vaddr = 0x900000;
	e = open_tiny(&t);
	assert_true(elf_offset_to_vaddr(e, TINY_TEXT, &at));
	assert_int_equal(at, TINY_VADDR);
	assert_true(elf_vaddr_to_offset(e, 0x900001, &at));
	assert_int_equal(at, TINY_TEXT + 1);
	elf_free(e);
}

/* A file of three gigabytes that is all holes, and claims to be a symbol table. */
static void test_huge_tables_are_refused_quickly(void **state)
{
	clock_t started = clock();
	int fd = memfd_create("huge", MFD_CLOEXEC);
	struct elf_symtab st;
	struct elf *e = NULL;
	struct buf b;
	struct tiny t;

	assert_true(fd >= 0);
	tiny_make(&t, two, 2);
	t.sh[TINY_SH_SYMTAB].sh_size = 2ull << 30;
	t.sh[TINY_SH_STRTAB].sh_size = 2ull << 30;
	assert_int_equal(write(fd, t.bytes, t.len), (ssize_t)t.len);
	assert_int_equal(ftruncate(fd, 3ll << 30), 0);
	assert_int_equal(elf_open_fd(fd, &e), 0);
	assert_int_equal(elf_symtab_open(e, SHT_SYMTAB, &st), -EFBIG);
	assert_int_equal(elf_read_section(e, &e->sections[TINY_SH_STRTAB], &b), -EFBIG);
	elf_free(e);
	/* Each part small enough, but too many symbols. */
	t.sh[TINY_SH_SYMTAB].sh_size = 24ull * (ELF_SYMBOLS_MAX + 1);
	t.sh[TINY_SH_STRTAB].sh_size = 1;
	assert_int_equal(pwrite(fd, t.bytes, t.len, 0), (ssize_t)t.len);
	assert_int_equal(elf_open_fd(fd, &e), 0);
	assert_int_equal(elf_symtab_open(e, SHT_SYMTAB, &st), -EFBIG);
	elf_free(e);
	close(fd);
	assert_true(clock() - started < CLOCKS_PER_SEC);
}

static void test_file_truncated_while_open(void **state)
{
	int fd = memfd_create("shrinks", MFD_CLOEXEC);
	struct elf_symtab st;
	struct elf *e = NULL;
	struct tiny t;

	assert_true(fd >= 0);
	tiny_make(&t, two, 2);
	assert_int_equal(write(fd, t.bytes, t.len), (ssize_t)t.len);
	assert_int_equal(elf_open_fd(fd, &e), 0);
	assert_int_equal(ftruncate(fd, 100), 0);
	assert_int_equal(elf_symtab_open(e, SHT_SYMTAB, &st), -EBADMSG);
	assert_non_null(strstr(err_msg(), "shorter"));
	elf_free(e);
	close(fd);
}

static void test_only_regular_files(void **state)
{
	int fd = open("/dev/zero", O_RDONLY);
	struct elf *e = NULL;

	assert_int_equal(elf_open_fd(fd, &e), -ENOEXEC);
	close(fd);
}

/* The counts stand in section 0 when they are too large for the header. */
static void test_extended_section_numbering(void **state)
{
	struct tiny t;
	struct elf *e;

	tiny_make(&t, two, 2);
	t.eh->e_shnum = 0;
	t.eh->e_shstrndx = SHN_XINDEX;
	t.sh[0].sh_size = TINY_SHNUM;
	t.sh[0].sh_link = TINY_SH_NAMES;
	e = open_tiny(&t);
	assert_int_equal(e->n_sections, TINY_SHNUM);
	assert_non_null(elf_section(e, ".symtab"));
	elf_free(e);
	t.sh[0].sh_size = 1ull << 60;
	e = open_tiny(&t);
	assert_int_equal(e->n_sections, 0);
	elf_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_file),
		cmocka_unit_test(test_refusals_say_why),
		cmocka_unit_test(test_without_section_headers),
		cmocka_unit_test(test_build_id_from_section_only),
		cmocka_unit_test(test_build_id_behind_another_note),
		cmocka_unit_test(test_executable_segment_answers_first),
		cmocka_unit_test(test_huge_tables_are_refused_quickly),
		cmocka_unit_test(test_file_truncated_while_open),
		cmocka_unit_test(test_only_regular_files),
		cmocka_unit_test(test_extended_section_numbering),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
