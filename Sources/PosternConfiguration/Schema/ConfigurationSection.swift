/// A part of the configuration that is a mapping of known keys.
///
/// Its initialiser is its only declaration: each call on the reader names one key with its type, default and
/// documentation. Reading a file and describing the schema run the same code, so that neither can drift from the other.
protocol ConfigurationSection: Sendable, Equatable {
  /// Reads the section, or describes it when there is nothing to read.
  init(reading keys: SectionReader)
}

extension ConfigurationSection {
  /// The section as it is when nothing of it is given.
  static var allDefaults: Self { Self(reading: SectionReader(describing: ReadingContext.describing())) }
}
