// Definitions as messages with their texts in them (castscope.proto, Definition): they become the records that
// castscope's own relay sends, so that one code checks both. A client that has no segment need not know the records'
// bytes.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "proto/castscope/v1/castscope.pb.h"

namespace castscope::ingest {

// Of one process, whose texts, code and operators are numbered here.
class PlainDefinitions {
 public:
  bool used() const { return used_; }
  // Appends the records of these definitions, each behind those that it refers to. A word that is on no list is an
  // error.
  absl::Status pack(const google::protobuf::RepeatedPtrField<v1::Definition>& definitions, std::string* records);

 private:
  absl::Status pack_one(const v1::Definition& definition, std::string* records);
  void pack(std::uint32_t id, const v1::Stack& stack, std::string* records);
  absl::Status pack(std::uint32_t id, const v1::Region& region, std::string* records);
  absl::Status pack(std::uint32_t id, const v1::Site& site, std::string* records);
  std::uint32_t text(const std::string& text, std::string* records);  // its number; 0 for ""
  std::uint32_t code(const v1::Frame& frame, std::string* records);
  std::uint32_t operator_of(const std::string& name, std::string* records);

  bool used_ = false;
  absl::flat_hash_map<std::string, std::uint32_t> texts_;
  absl::flat_hash_map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> codes_;  // file, function: both texts
  absl::flat_hash_map<std::uint32_t, std::uint32_t> operators_;                        // by text
};

}  // namespace castscope::ingest
