package import PosternJSON
import PosternSupport

/// The outcome of one check of `postern doctor`.
package struct DoctorFinding: Sendable {
  /// How bad it is.
  package enum Status: String, Sendable {
    case ok, warning, failed
    /// The check was not made, for the reason that `found` has.
    case skipped
  }

  package let status: Status
  /// The result, in words.
  package let found: String
  /// The remedy; nil where none is needed.
  var cure: String?

  /// The check passed.
  package static func ok(_ found: String) -> DoctorFinding { DoctorFinding(status: .ok, found: found) }
  /// The check was not made.
  package static func skipped(_ why: String) -> DoctorFinding { DoctorFinding(status: .skipped, found: why) }
  /// It works, with a doubt.
  package static func warning(_ found: String, cure: String) -> DoctorFinding {
    DoctorFinding(status: .warning, found: found, cure: cure)
  }
  /// It does not work.
  package static func failed(_ found: String, cure: String) -> DoctorFinding {
    DoctorFinding(status: .failed, found: found, cure: cure)
  }
}

/// The checks of `postern doctor` in the order in which they are printed, with their findings as these come.
package final class DoctorReport: Sendable {
  /// One check.
  package struct Entry: Sendable {
    /// The part that is checked: `issuers.corp: discovery`.
    package let name: String
    /// The attempt, in words.
    package let tried: String
    package fileprivate(set) var finding: DoctorFinding?
  }

  private let entries = Locked<[Entry]>([])

  package init() {}

  /// Announces a check; returns its number.
  package func begin(_ name: String, tried: String) -> Int {
    entries.withLock { entries in
      entries.append(Entry(name: name, tried: tried))
      return entries.count - 1
    }
  }

  /// Records what the check of that number came to; the first finding counts.
  package func end(_ number: Int, _ finding: DoctorFinding) {
    entries.withLock { entries in
      if entries[number].finding == nil { entries[number].finding = finding }
    }
  }

  /// Records a check that was made already.
  package func add(_ name: String, tried: String, _ finding: DoctorFinding) { end(begin(name, tried: tried), finding) }

  /// The checks as they are when the time is over: one without a finding has failed.
  package func closed(after time: Duration) -> [Entry] {
    entries.withLock { entries in
      for number in entries.indices where entries[number].finding == nil {
        entries[number].finding = .failed(
          "no answer within \(time.wholeMilliseconds / 1000) s",
          cure: "see whether the server answers at all; --timeout gives it more time")
      }
      return entries
    }
  }
}

extension [DoctorReport.Entry] {
  /// How many checks have failed.
  package var failures: Int { count { $0.finding?.status == .failed } }

  /// A line for each check, and one with its cure.
  package var text: String {
    map { entry in
      let status = entry.finding?.status.rawValue ?? ""
      let line = "\(status)\(String(repeating: " ", count: Swift.max(1, 9 - status.utf8.count)))\(entry.name): "
      let cure = entry.finding?.cure.map { "\n         cure: \(Self.printable($0))" } ?? ""
      return Self.printable(line + "\(entry.tried): \(entry.finding?.found ?? "")") + cure
    }.joined(separator: "\n")
  }

  /// Servers choose a part of the text: none of it may command the terminal.
  private static func printable(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : $0 }))
  }

  /// The same for programs.
  package func json(configuration: String) -> JSONValue {
    let checks = map { entry -> JSONValue in
      var object: JSONObject = [
        "check": .string(entry.name), "status": .string(entry.finding?.status.rawValue ?? ""),
        "tried": .string(entry.tried), "found": .string(entry.finding?.found ?? ""),
      ]
      object["cure"] = entry.finding?.cure.map { .string($0) }
      return .object(object)
    }
    return [
      "configuration": .string(configuration), "failed": .integer(Int64(failures)), "checks": .array(checks),
    ]
  }
}
