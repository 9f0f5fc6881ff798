/// The release of all parts.
package enum Release {
  /// Its version (semantic versioning).
  package static let version = "0.1.0"
}
