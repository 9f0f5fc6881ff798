export * from "./types/testing";
