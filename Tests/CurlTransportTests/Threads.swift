import Foundation

/// The threads of this process, as the kernel describes them.
enum Threads {
  struct Status {
    let blockedSignals: UInt64
    func blocks(_ signal: Int32) -> Bool { blockedSignals >> UInt64(signal - 1) & 1 == 1 }
  }

  static func statuses(named name: String) -> [Status] {
    let folder = "/proc/self/task"
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return threads.compactMap { thread in
      guard let text = try? String(contentsOfFile: "\(folder)/\(thread)/status", encoding: .utf8) else { return nil }
      var values: [Substring: String] = [:]
      for line in text.split(separator: "\n") {
        guard let colon = line.firstIndex(of: ":") else { continue }
        values[line[..<colon]] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
      }
      guard values["Name"] == name, let mask = values["SigBlk"].flatMap({ UInt64($0, radix: 16) }) else { return nil }
      return Status(blockedSignals: mask)
    }
  }
}
