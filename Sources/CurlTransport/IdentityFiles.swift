import HTTPMessages
import PosternSupport

/// The client certificates in use, read again when their files are replaced. Owned by the loop.
///
/// A replacement that is not valid, such as a certificate whose key has not been replaced yet, leaves the one before it
/// in force.
final class IdentityFiles {
  private struct Entry {
    let stamps: [FileStamp?]
    var current: LoadedIdentity?
    var problem: String
  }

  /// More than any configuration has at a time; those of configurations before it go.
  private static let maxEntries = 256

  private let report: CurlTransport.FileReport?
  private var entries: [ClientIdentity: Entry] = [:]

  init(report: CurlTransport.FileReport?) { self.report = report }

  /// The identity of the files now.
  func identity(_ wanted: ClientIdentity) throws(LoadedIdentity.Problem) -> LoadedIdentity {
    // Before reading: whatever is replaced meanwhile is read the next time.
    let stamps = Self.stamps(of: wanted)
    var entry = entries[wanted] ?? Entry(stamps: [], current: nil, problem: "")
    if entry.stamps != stamps {
      do throws(LoadedIdentity.Problem) {
        entry = Entry(stamps: stamps, current: try LoadedIdentity(wanted), problem: "")
        report?(wanted.certificateFile, nil)
      } catch {
        entry = Entry(stamps: stamps, current: entry.current, problem: error.text)
        // Where there was none before, the exchange fails with the reason.
        if entry.current != nil { report?(wanted.certificateFile, error.text) }
      }
      if entries.count >= Self.maxEntries { entries.removeAll() }
      entries[wanted] = entry
    }
    guard let current = entry.current else { throw LoadedIdentity.Problem(text: entry.problem) }
    return current
  }

  private static func stamps(of identity: ClientIdentity) -> [FileStamp?] {
    switch identity.key {
    case .text: [FileStamp(identity.certificateFile)]
    case .file(let path): [FileStamp(identity.certificateFile), FileStamp(path)]
    }
  }
}
