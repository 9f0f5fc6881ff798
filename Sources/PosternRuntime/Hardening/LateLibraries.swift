import Glibc

/// Libraries that the C library loads on demand, and that must be loaded before loading code is forbidden.
enum LateLibraries {
  /// Loads them, and keeps them loaded. Missing ones are skipped, as the C library does.
  static func load() {
    for name in names(nameServices: "/etc/nsswitch.conf") { _ = dlopen(name, RTLD_NOW | CInt(RTLD_NODELETE)) }
  }

  /// The libraries of the name services in the file (nsswitch.conf(5)) and of the default ones, and the library that
  /// unwinds the stack of a thread that exits.
  static func names(nameServices path: String) -> [String] {
    var services: Set<String> = ["dns", "files"]
    if let file = fopen(path, "re") {
      defer { fclose(file) }
      var line: UnsafeMutablePointer<CChar>?
      var capacity = 0
      while getline(&line, &capacity, file) > 0, let text = line {
        services.formUnion(named(in: String(cString: text)))
      }
      free(line)
    }
    return ["libgcc_s.so.1"] + services.sorted().map { "libnss_\($0).so.2" }
  }

  /// The services of a line such as `hosts: files mdns4_minimal [NOTFOUND=return] dns # mine`.
  private static func named(in line: String) -> [String] {
    let rule = line.utf8.prefix { $0 != UInt8(ascii: "#") }.split(separator: UInt8(ascii: ":"), maxSplits: 1)
    guard rule.count == 2 else { return [] }
    var isAction = false
    return rule[1].split(whereSeparator: " \t\n".utf8.contains).compactMap { word in
      if word.first == UInt8(ascii: "[") { isAction = true }
      defer { if word.last == UInt8(ascii: "]") { isAction = false } }
      // The name becomes a part of a library's name: it must have no slash.
      let isName = word.allSatisfy { $0 == UInt8(ascii: "_") || isalnum(CInt($0)) != 0 }
      return isAction || !isName ? nil : String(word)
    }
  }
}
