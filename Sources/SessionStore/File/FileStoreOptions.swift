/// Options of a file store for tests.
struct FileStoreOptions: Sendable {
  /// The name of SQLite's virtual file system; nil for the usual one.
  var vfs: String?
  /// `FULL`: a transaction is on disk when it has ended.
  var synchronous = "FULL"
  /// The most pages the file may have; nil for as many as the disk holds.
  var maximumPageCount: Int?
}
