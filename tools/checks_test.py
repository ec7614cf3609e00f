#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants a fault of each kind in a small tree and wants the check to find it, and nothing where there is none."""
import itertools
import pathlib
import tempfile
import unittest

import check_docs
import check_file_size
import check_foreign_text
import check_hashing
import check_includes
import check_known_faults
import check_operators
import check_signals
import check_spdx
import check_words
import mutations

TAG = "// SPDX-License-Identifier: Apache-2.0\n"


class Checks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def expect(self, check, *parts):
        """One fault for each of parts, in order, that contains it."""
        found = list(check.faults(self.root))
        self.assertEqual(len(found), len(parts), found)
        for fault, part in zip(found, parts):
            self.assertIn(part, fault)

    def test_a_room_may_include_itself_base_and_its_neighbours(self):
        self.write("src/ops/a.cpp", '#include <vector>\n#include "ops/b.h"\n#include "base/check.h"\n#include "tensor/view.h"\n#include "hwy/highway.h"\n')
        self.write("src/cli/run.cpp", '#include "version.h"\n#include "engine/engine.h"\n')
        self.expect(check_includes)

    def test_output_and_exceptions_that_go_past_the_filter_are_found(self):
        self.write("src/cli/a.cpp", "std::cout << name;\nfmt::print(\"{}\", name);\nreport(e.what());\n// std::cerr\n")
        self.expect(check_foreign_text, "a.cpp:1: prints", "a.cpp:2: prints", "a.cpp:3: tells")
        self.write("src/cli/a.cpp", "print_out(name);\n")
        self.write("src/cli/a_test.cpp", "std::cout << name;\n")
        self.expect(check_foreign_text)

    def test_a_call_of_filesystem_that_throws_is_found(self):
        self.write("src/kv/a.cpp", "fs::exists(a / b(c));\nfs::exists(a, error);\nstd::filesystem::exists(status);\n"
                                   "fs::remove(a,\n  ignored);\nfs::directory_iterator it(a);\nfs::directory_iterator();\n")
        self.expect(check_foreign_text, "a.cpp:1: std::filesystem::exists", "a.cpp:6: std::filesystem::directory_iterator")

    def test_an_include_of_a_room_to_the_right_is_found(self):
        self.write("src/ops/a.cpp", '#include "tensor/view.h"\n#include "model/layer.h"\n')
        self.expect(check_includes, "a.cpp:2: ops may not include model")

    def test_a_benchmark_beside_an_operator_may_include_the_room_bench_and_its_operator_may_not(self):
        self.write("src/ops/a_bench.cpp", '#include "bench/bench.h"\n')
        self.write("src/ops/b.cpp", '#include "bench/bench.h"\n')
        self.expect(check_includes, "b.cpp:1: ops may not include bench")

    def test_base_may_include_nothing_else(self):
        self.write("src/base/a.h", '#include "tensor/view.h"\n')
        self.expect(check_includes, "base may not include tensor")

    def test_a_path_that_does_not_start_at_src_is_found(self):
        self.write("src/ops/a.cpp", '#include "b.h"\n#include "../kv/ring.h"\n')
        self.expect(check_includes, '"b.h" is not a path', '"../kv/ring.h" is not a path')

    def test_a_folder_that_is_no_room_is_found(self):
        self.write("src/util/a.h", "")
        self.expect(check_includes, "no room is called util")

    def test_only_the_command_line_knows_the_version(self):
        self.write("src/engine/a.cpp", '#include "version.h"\n')
        self.expect(check_includes, "only src/cli may include version.h")

    def test_a_known_fault_without_row_test_or_reason_is_found(self):
        rows = [f"| {k}{n} | it broke | `Rope.Turns` |" for k, numbers in check_known_faults.IDS.items() for n in numbers]
        self.write("src/ops/rope_test.cpp", "TEST(Rope, Turns) {}\n")
        self.write("tests/CMakeLists.txt", "add_test(NAME memory.plan COMMAND x)\n")
        self.write("tests/fuzz/json_fuzz/one", "1")
        page = lambda: self.write("docs/known_faults.md", "\n".join(rows) + "\n")
        rows[1] = "| A3 | it broke | does not apply: nothing of the kind is there, nor will be |"
        rows[2] = "| A4 | it broke | `memory.plan`, `replay.json_fuzz` |"
        page()
        self.expect(check_known_faults)
        missing = rows.pop(0)
        page()
        self.expect(check_known_faults, "A2 has 0 rows")
        rows.insert(0, missing.replace("Turns", "Spins"))
        rows[1] = "| A3 | it broke | does not apply: no |"
        rows[2] = "| A4 | it broke | not tested |"
        rows[3] = "| A7 | it broke | `memory.pan`, `replay.xml_fuzz` |"
        page()
        self.expect(check_known_faults, "A2 names Rope.Spins", "A3 gives no reason", "A4 names no test", "memory.pan", "replay.xml_fuzz")

    def test_a_file_of_401_lines_is_found_and_one_of_400_is_not(self):
        self.write("src/a.cpp", "\n" * 400)
        self.write("src/b.cpp", "\n" * 401)
        self.expect(check_file_size, "b.cpp: 401 lines")

    def test_a_long_file_with_a_reason_passes(self):
        self.write("src/a.cpp", "\n" * 401)
        self.write("tools/long_files.txt", "src/a.cpp a table made by a tool\n")
        self.expect(check_file_size)

    def test_an_excuse_without_reason_or_without_need_is_found(self):
        self.write("src/a.cpp", "\n" * 401)
        self.write("tools/long_files.txt", "src/a.cpp\nsrc/gone.cpp it was long once\n")
        self.expect(check_file_size, "gives no reason", "src/gone.cpp is no file of more than")

    def test_test_data_and_build_output_are_not_looked_at(self):
        self.write("tests/golden/a.py", "\n" * 500)
        self.write("build/release/a.cpp", "\n" * 500)
        self.expect(check_file_size)
        self.expect(check_spdx)

    def test_code_without_a_licence_line_is_found(self):
        self.write("src/good.cpp", TAG)
        self.write("good.sh", "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n")
        self.write("script", "#!/bin/sh\necho\n")
        self.write("src/bad.h", "#pragma once\n" + TAG)
        self.expect(check_spdx, "script", "bad.h")

    def test_a_place_on_one_machine_is_found(self):
        self.write("docs/a.md", "run it in " + "/ho" + "me/me\n")
        self.write("docs/b.md", "see https://example.org" + "/wo" + "rk/ and src" + "/wo" + "rk/\n")
        self.write("src/base/test_folder.h", "a = temp_directory" + "_path();\n")
        self.write("src/base/a_test.cpp", 'p = testing::Temp' + 'Dir() + "a";\n')
        self.expect(check_words, "a.md:1", "a_test.cpp:1")

    def operator(self, folder, name, code="_ref.cpp", test=True, bench=True, each=True):
        self.write(f"src/ops/{folder}/{name}.h", TAG + ("void each(S&& s) {}\n" if each else ""))
        self.write(f"src/ops/{folder}/{name}{code}", TAG)
        if test:
            self.write(f"src/ops/{folder}/{name}_test.cpp", TAG + "// each_backend()\n")
        if bench:
            self.write(f"src/ops/{folder}/{name}_bench.cpp", TAG)

    def table(self, *entries):
        lines = "".join(f"  void (*{entry})(Context&, const Args&);\n" for entry in entries)
        listed = "".join(f'  s("{entry}", Entry<&Backend::{entry}>());\n' for entry in entries)
        self.write("src/ops/backend.h", lines + listed)

    def test_whole_operators_and_pure_functions_pass(self):
        self.operator("linear", "linear")
        self.operator("engram/gate", "gate")
        self.operator("engram/hash", "hash", code=".cpp", bench=False)
        self.table("linear", "engram_gate")
        self.write("src/ops/README.md", "`linear` `engram/gate` `engram/hash`")
        self.expect(check_operators)

    def test_an_operator_without_test_line_or_entry_is_found(self):
        self.operator("linear", "linear", test=False)
        self.table("rope")
        self.expect(check_operators, "no linear_test.cpp", "no line for `linear`", "no entry linear", "contract of rope")

    def test_an_operator_without_benchmark_is_found(self):
        self.operator("linear", "linear", bench=False)
        self.table("linear")
        self.write("src/ops/README.md", "`linear`")
        self.expect(check_operators, "no linear_bench.cpp")

    def test_an_operator_without_code_is_found(self):
        self.operator("rope", "rope", code="_cpu.cpp")
        self.table("rope")
        self.write("src/ops/README.md", "`rope`")
        self.expect(check_operators, "no rope_ref.cpp (operator) and no rope.cpp")

    def test_names_that_differ_from_the_table_are_found(self):
        self.operator("rope", "rope")
        self.write("src/ops/README.md", "`rope`")
        self.write("src/ops/backend.h", 'void (*rope)(Context&, const RopeArgs&);\ns("ropes", Entry<&Backend::rope>());\n')
        self.expect(check_operators, "each_operator does not list")

    def test_an_operator_tested_on_one_backend_is_found(self):
        self.operator("rope", "rope")
        self.write("src/ops/rope/rope_test.cpp", TAG)
        self.table("rope")
        self.write("src/ops/README.md", "`rope`")
        self.expect(check_operators, "no suite of it runs on every backend")

    def test_arguments_that_cannot_be_enumerated_are_found(self):
        self.operator("rope", "rope", each=False)
        self.table("rope")
        self.write("src/ops/README.md", "`rope`")
        self.expect(check_operators, "have no each()")

    def spec(self):
        self.write("docs/spec/model.md", "# The model\n## 3. Attention\n### 3.5 Sparse attention\n## 7. Formats\n")
        self.write("docs/spec/tokenizer.md", "## 2. Encoding\n")
        self.write("src/ops/README.md", "what it is for\n")

    def test_a_hash_table_of_the_standard_library_is_found(self):
        self.write("src/base/seeded_hash.h", "using HashMap = std::unordered_map<int, int, SeededHash>;\n")
        self.write("src/kv/a.h", "#include <unordered_set>\nstd::unordered_multimap<int, int> b;\nHashMap<int, int> c;\nstd::hash<int> d;\n")
        self.write("tools/a.cpp", "std::unordered_map<int, int> a;\n")
        self.expect(check_hashing, "a.h:1: unordered_set", "a.h:2: unordered_multimap", "a.h:4: std::hash")

    def test_a_handler_of_a_signal_that_is_installed_elsewhere_is_found(self):
        self.write("src/cli/a.cpp", "std::signal(SIGINT, on_signal);\n::sigaction(SIGHUP,\n  &action, nullptr);\nact.sa_handler = f;\n"
                                    "::pthread_sigmask(SIG_BLOCK, &set, &before);\nsigprocmask(SIG_BLOCK, &set, 0);\n")
        self.expect(check_signals, "a.cpp:1: signal installs", "a.cpp:2: sigaction installs", "a.cpp:4: sa_handler installs",
                    "a.cpp:5: pthread_sigmask changes", "a.cpp:6: sigprocmask is undefined")

    def test_what_installs_no_handler_of_a_signal_passes(self):
        self.write("src/cli/a.cpp", "std::signal(SIGINT, SIG_DFL);\n::sigaction(SIGHUP, nullptr, &now);  // signal(SIGINT, f)\n"
                                    "if (now.sa_handler == f) handle_signal(SIGHUP, on_signal);\nvoid on_signal(int number, int b);\n")
        self.write("src/cli/a_test.cpp", "std::signal(SIGINT, on_signal);\n")
        self.write("src/cli/output/lost_pages.cpp", "action.sa_sigaction = on_bus_error;\n")
        self.expect(check_signals)

    def test_an_excuse_of_a_signal_that_is_not_needed_is_found(self):
        self.write("src/cli/chat/typing.cpp", "int wait();\n")
        self.expect(check_signals, "typing.cpp: needs no excuse")

    def test_cited_sections_that_exist_pass(self):
        self.spec()
        self.write("src/ops/a.h", "// Source: spec 3.5, 7. Also tokenizer.md section 2.\n")
        self.expect(check_docs)

    def test_cited_sections_that_do_not_exist_are_found_across_lines(self):
        self.spec()
        self.write("src/ops/a.h", "// Source: spec\n// 3.6. Also tokenizer.md 4.\n")
        self.expect(check_docs, "section 3.6 of docs/spec/model.md", "section 4 of docs/spec/tokenizer.md")

    def test_a_dead_link_is_found(self):
        self.spec()
        self.write("README.md", "[good](docs/spec/model.md#x) [far](https://example.org) [dead](docs/gone.md) `[code](no)`\n")
        self.expect(check_docs, "docs/gone.md leads nowhere")

    def test_a_room_without_readme_or_with_a_long_one_is_found(self):
        self.spec()
        self.write("src/kv/ring.h", TAG)
        self.write("src/model/README.md", "line\n" * 31)
        (self.root / "src" / "device" / "cpu").mkdir(parents=True)  # no files: git does not keep it
        self.expect(check_docs, "kv: no README.md", "more than 30 lines")

    def mutants(self, code):
        """Kind and what the line becomes, without what stands the same before and after it."""
        return {(m.kind, m.of(code).strip()) for m in mutations.mutations("src/a.cpp", code)}

    def test_mutations_change_operators_constants_conditions_and_statements(self):
        self.assertEqual(self.mutants("bool f(int n) { return n < 8; }"),
                         {("comparison", "bool f(int n) { return n <= 8; }"), ("constant", "bool f(int n) { return n < 9; }"),
                          ("constant", "bool f(int n) { return n < 7; }")})
        self.assertEqual(self.mutants("if (a && b) go();"),
                         {("logic", "if (a || b) go();"), ("condition", "if (!(a && b)) go();")})
        self.assertEqual(self.mutants("if (!a) return fail(it);"),
                         {("negation", "if (a) return fail(it);"), ("guard", ";"), ("error", "if (!a) return {};")})
        self.assertEqual(self.mutants("{\n  go(x);\n}"), {("statement", "{\n  ;\n}")})
        self.assertEqual(self.mutants("{\n  total += x;\n}"),
                         {("statement", "{\n  ;\n}"), ("assignment", "{\n  total -= x;\n}")})

    def test_mutations_leave_comments_text_templates_and_declarations_alone(self):
        for code in ['// a < 8', 'f("a < 8 && b", \'7\');', "#if A < 8", "static_assert(a < 8);", "View<float, 2> x;",
                     "{\n  const auto x = f(y);\n}", "{\n  int x(y);\n}", "template <class T, int n>"]:
            self.assertEqual(self.mutants(code), set(), code)

    def test_the_same_seed_picks_the_same_mutations_and_sees_every_room(self):
        for room in ("base", "kv", "ops"):
            self.write(f"src/{room}/a.cpp", "int f(int n) { return n < 8 ? 1 : 2; }\n" * 9)
            self.write(f"src/{room}/a_test.cpp", "int f(int n) { return n < 8 ? 1 : 2; }\n")
        first, again = ([*itertools.islice(mutations.picked(self.root, 3), 6)] for _ in range(2))
        self.assertEqual(first, again)
        self.assertEqual({m.file for m in first}, {"src/base/a.cpp", "src/kv/a.cpp", "src/ops/a.cpp"})


if __name__ == "__main__":
    unittest.main()
