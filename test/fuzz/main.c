// SPDX-License-Identifier: MIT
/*
 * Runs a fuzz target over the files given, and over those in the directories given: a corpus as a
 * plain test, for any compiler. What was once found stays found.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned ran;

static int run_file(const char *path, size_t size)
{
	FILE *f = fopen(path, "rb");
	/* Exactly as large as the input: a read beyond it is caught. */
	uint8_t *data = malloc(size ? size : 1);
	int rc = 1;

	if (f && data && fread(data, 1, size, f) == size) {
		LLVMFuzzerTestOneInput(data, size);
		ran++;
		rc = 0;
	} else {
		perror(path);
	}
	if (f)
		fclose(f);
	free(data);
	return rc;
}

static int run(const char *path)
{
	struct dirent **names;
	struct stat st;
	int n, rc = 0;

	if (stat(path, &st)) {
		perror(path);
		return 1;
	}
	if (!S_ISDIR(st.st_mode))
		return run_file(path, (size_t)st.st_size);
	n = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		char child[4096];

		snprintf(child, sizeof(child), "%s/%s", path, names[i]->d_name);
		if (names[i]->d_name[0] != '.')
			rc |= run(child);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return rc | (n < 0);
}

int main(int argc, char **argv)
{
	int rc = 0;

	for (int i = 1; i < argc; i++)
		rc |= run(argv[i]);
	printf("%u inputs\n", ran);
	return rc;
}
